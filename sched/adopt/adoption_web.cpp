// SPDX-License-Identifier: LGPL-3.0-or-later
// What clients hear during a move. Of a stopped project, and of one whose feeder has not filled the job array yet,
// BOINC's cgi answers before it has read the request, and web servers then lose most of its replies. So Sluice's goes
// in first and leaves last. While PROJECT/sluice_moving is there it reads each request, and tells the client when to
// come back.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <thread>

#include "config/run/own_programs.h"
#include "sched/adopt/adoption.h"
#include "sched/adopt/config_edit.h"
#include "sched/adopt/interrupts.h"
#include "sched/cgi/relay_protocol.h"
#include "sluice/base/files.h"
#include "sluice/base/project.h"

namespace sluice {
namespace {

constexpr double kServedLimit = 20, kFillLimit = 60, kLookAgain = .2;  // s

/// Asks `is_over` until it says so, at most for `limit` s; whether it did.
bool wait_until(double limit, const std::function<bool()>& is_over) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(limit);
    while (!is_over()) {
        if (std::chrono::steady_clock::now() >= end) return false;
        std::this_thread::sleep_for(std::chrono::duration<double>(kLookAgain));
    }
    return true;
}

/// Pids of processes of any account that the web server started as cgi.
std::vector<std::string> schedulers_at_work() {
    std::vector<std::string> pids;
    std::error_code error;
    for (fs::directory_iterator it("/proc", error), end; !error && it != end; it.increment(error)) {
        std::string name;
        std::ifstream(it->path() / "comm") >> name;
        if (name == "cgi") pids.push_back(it->path().filename());
    }
    return pids;
}

}  // namespace

/// From now on. A way back may find BOINC's cgi in place, where one before it could not clean the database.
void Adoption::hold_clients(bool moving_in) {
    site_.write_config(with_option(site_.config_text(), kDelayOption, kShortDelay));
    write_file_atomically(options_.project / relay::kMoving, "<moving/>\n", 0644);
    const auto is_theirs = [&](const char* name) {
        return is_there(options_.project / name) && !is_ours(options_.project / name);
    };
    if (moving_in || std::ranges::any_of(kWebPrograms, is_theirs)) put_web_programs();
    say(fmt::format("From now on Sluice's cgi tells clients to come back in {} s", kShortDelay));
    wait_for_requests(moving_in);
}

void Adoption::put_web_programs() {
    std::vector<std::string> programs;
    for (const char* name : kWebPrograms)
        if (is_there(options_.project / name)) keep(name), programs.emplace_back(name);
    if (!programs.empty()) renew(programs);  // without names it would be all of them
}

/// Those that a scheduler has begun to serve: at first BOINC's would break off if it met the stop, and ours would write
/// while the database is cleaned. They are the web server's account's: only their names can be seen.
void Adoption::wait_for_requests(bool may_be_interrupted) const {
    std::vector<std::string> begun = schedulers_at_work();
    const bool served = wait_until(kServedLimit, [&] {
        if (may_be_interrupted) refuse_if_interrupted();
        const std::vector<std::string> now = schedulers_at_work();
        std::erase_if(begun, [&](const std::string& pid) { return std::ranges::find(now, pid) == now.end(); });
        return begun.empty();
    });
    if (!served) say(fmt::format("Requests from before are still being served after {:.0f} s: going on", kServedLimit));
}

void Adoption::let_clients_in() const { fs::remove(options_.project / relay::kMoving); }

/// If the start fails, BOINC's cgi is back all the same: it may serve.
void Adoption::start_old() {
    if (state_.elsewhere) return say("The project is stopped: start it where its old programs run");
    try {
        start();
    } catch (...) {
        return_web_programs();
        throw;
    }
    wait_for_old_array();
}

/// Only BOINC's cgi can tell whether its feeder has filled the array. It is not asked where it would make the web
/// server's log anew, as this account's, or where it can't write that.
void Adoption::wait_for_old_array() const {
    fs::path cgi = kept_ / "cgi-bin/cgi";
    const fs::path log = site_.folders().log / kWebLogs[0];
    if (!state_.enabled || !is_there(cgi) || is_own_program(cgi) || ::access(log.c_str(), W_OK) != 0) return;
    if (fs::is_symlink(cgi)) cgi = options_.project / "cgi-bin" / fs::read_symlink(cgi);
    std::string silence;
    const bool serves =
        wait_until(kFillLimit, [&] { return (silence = site_.silence(cgi.string(), kept_, kAnswerLimit)).empty(); });
    if (!serves) say(fmt::format("After {:.0f} s: {}; it is put back all the same", kFillLimit, silence));
}

/// The last that a way back does to the project. May be repeated. A process of ours that has just begun has yet to read
/// what it is to say.
void Adoption::return_web_programs() const {
    put_web_programs_back(kept_, options_.project);
    if (is_there(options_.project / relay::kMoving)) wait_for_requests(false);
    let_clients_in();
    restore_delay();
}

}  // namespace sluice
