// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/adopt/adoption.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <sstream>
#include <string_view>
#include <thread>

#include "config/run/command_words.h"
#include "config/run/own_programs.h"
#include "config/run/process_lock.h"
#include "config/run/spawn.h"
#include "sched/adopt/config_edit.h"
#include "sched/adopt/interrupts.h"
#include "sched/adopt/statements.h"
#include "sched/health/gather.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/process.h"
#include "sluice/base/project.h"
#include "sluice/base/text.h"

namespace sluice {
namespace {

/// Daemons that upstream does not have.
constexpr std::array<std::string_view, 9> kOwnDaemons{
    "scheduler",    "file_upload_handler", "batches",  "batch_planner", "batch_shares",
    "batch_upkeep", "batch_watch",         "gang_hub", "gang_planner"};
constexpr double kPoll = 0.2, kProgress = 10, kAskAgain = 5, kStopLimit = 20, kFirstAsk = 5;  // s
constexpr const char* kElsewhere = "elsewhere";
constexpr const char* kStages[] = {"none",    "keeping",   "stopping", "swapping",
                                   "adopted", "reverting", "undoing",  "forgetting"};

using Steady = std::chrono::steady_clock;
double seconds_since(Steady::time_point begin) { return std::chrono::duration<double>(Steady::now() - begin).count(); }
void sleep_seconds(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

/// Until the feeder has filled the job array, each request is told so there, as critical.
bool is_requests_log(const fs::path& log) { return log.filename() == kWebLogs[0]; }

bool runs_scheduler(const ConfiguredProgram& job) { return !job.words.empty() && job.words[0] == "scheduler"; }

/// By the name of its program: what adopt puts there has to run, whatever was before.
bool is_swapped(const std::string& command) {
    const std::string name = fs::path(command.substr(0, command.find(' '))).filename();
    return name == "scheduler" ||
           std::ranges::any_of(kReplaced, [&](const char* replaced) { return fs::path(replaced).filename() == name; });
}

}  // namespace

Adoption::Adoption(AdoptionOptions options, FindErrors find_errors)
    : options_(std::move(options)),
      site_(options_.project),
      find_errors_(std::move(find_errors)),
      kept_(options_.project / kReplacedFolder) {}

fs::path Adoption::statements_file() const { return options_.prefix / "share/sluice/going_back.sql"; }

Adoption::State Adoption::read_state() const {
    const auto text = read_file(kept_ / "state");
    if (!text) return {};
    std::istringstream words(*text);
    std::string stage, enabled, where;
    words >> stage >> enabled >> where;
    const auto* const known = std::ranges::find(kStages, stage);
    if (known == std::end(kStages))
        throw ConfigError(
            fmt::format("{} is not understood: it names how far the move has come; put it back, or follow "
                        "docs/install.md by hand",
                        (kept_ / "state").string()));
    return {static_cast<Stage>(known - std::begin(kStages)), enabled == "on", where == kElsewhere};
}

void Adoption::write_state(Stage stage) {
    changed_ = true;
    state_.stage = stage;
    write_file_atomically(kept_ / "state",
                          fmt::format("{} {} {}\n", kStages[static_cast<std::size_t>(stage)],
                                      state_.enabled ? "on" : "off", state_.elsewhere ? kElsewhere : "here"));
}

MovedPrograms Adoption::programs() const { return moved_programs(options_.project, options_.prefix, state_.elsewhere); }

void Adoption::say_plan(bool back) const {
    std::vector<std::string> web, others;
    const MovedPrograms programs = this->programs();
    for (const auto& names : {programs.replaced, programs.added})
        for (const std::string& name : names)
            if (is_there(options_.project / name)) (is_web_program(name) ? web : others).push_back(name);
    std::erase_if(others, [](const std::string& name) { return std::ranges::find(kNew, name) != kNew.end(); });
    const std::string added = state_.elsewhere ? "all others that it has" : fmt::format("{}", fmt::join(kNew, " "));
    if (!why_elsewhere_.empty())
        say(
            fmt::format("bin/stop can't run here ({}), and nothing of the project runs: so all programs are replaced, "
                        "bin/start and bin/stop, too",
                        why_elsewhere_));
    if (!back)
        say(fmt::format("Keep in {}: config.xml {} {}", kept_.string(), fmt::join(others, " "), fmt::join(web, " ")));
    say(fmt::format("{}: Sluice's {}, and tells clients to come back in {} s until the project runs again",
                    fmt::join(web, " "), back ? "stays" : "goes in first", kShortDelay));
    say("Stop the project");
    if (back) {
        say(fmt::format("Take out of the database what BOINC's programs do not know: {}", statements_file().string()));
        say(fmt::format("Put back from {}: {}\nRemove: {}", kept_.string(), fmt::join(others, " "), added));
        say(fmt::format("config.xml: as it was, or without the daemons {}", fmt::join(kOwnDaemons, ", ")));
    } else {
        say(fmt::format("Put Sluice's in the place of {}, and add: {}", fmt::join(others, " "), added));
        say("config.xml: one more daemon, scheduler");
    }
    const bool starts =
        state_.stage == Stage::kNone || state_.stage == Stage::kAdopted ? site_.is_enabled() : state_.enabled;
    if (back && state_.elsewhere)
        say("Leave the project stopped: its old programs run elsewhere");
    else
        say(starts ? "Start the project" : "Leave the project stopped, as it is");
    if (back) say(fmt::format("Put back, at last: {}", fmt::join(web, " ")));
}

/// Never over what is kept already: by then the project may have our programs.
void Adoption::keep(const std::string& name) const {
    if (is_there(options_.project / name) && !is_there(kept_ / name)) copy_over(options_.project / name, kept_ / name);
}

void Adoption::keep_originals() {
    for (const char* folder : {"bin", "cgi-bin"}) fs::create_directories(kept_ / folder);
    if (state_.stage == Stage::kNone) state_.enabled = site_.is_enabled();
    write_state(Stage::kKeeping);
    make_reserve(kept_ / "reserve");
    const MovedPrograms programs = this->programs();
    for (const std::string& name : programs.replaced) keep(name);
    for (const std::string& name : programs.added) keep(name);  // a project's own program of that name
    if (!is_there(kept_ / "config.xml"))                        // it holds a password
        write_file_atomically(kept_ / "config.xml", site_.config_text(), 0600);
    if (!is_there(kept_ / "url")) {
        const std::string url = scheduler_url(options_.project, site_.config());
        const std::string wrong = url.empty() ? "no URL is known" : ask_scheduler(url, kFirstAsk).error;
        if (!wrong.empty()) say("The scheduler's URL is not watched, as it does not serve now: " + wrong);
        write_file_atomically(kept_ / "url", wrong.empty() ? url : "");
    }
    if (!is_there(kept_ / "dead"))
        write_file_atomically(kept_ / "dead", fmt::format("{}\n", fmt::join(missing_daemons(), "\n")));
}

/// Until nothing runs. From then on to start() no other start does anything: cron's, or an admin's.
void Adoption::stop(bool may_be_interrupted) {
    no_start_.reset();
    say("Stopping");
    const HostFolders where = site_.folders();
    const bool by_itself = state_.elsewhere && !is_ours(options_.project / "bin/stop");
    bool stopped = by_itself;
    double next_word = kProgress;
    const auto begin = Steady::now();
    for (;;) {
        if (may_be_interrupted) refuse_if_interrupted();
        // A start that was begun before may still be under way: then stop refuses. Ours waits for the daemons.
        if (!stopped) {
            const int status =
                run_quietly({(options_.project / "bin/stop").string()}, std::min(kStopLimit, options_.stop_wait));
            stopped = status == 0 || status == kScriptTimedOut;
        }
        const double waited = seconds_since(begin);
        std::vector<std::string> names;
        for (const RunningDaemon& daemon : find_running(where, site_.programs(where)).running)
            names.push_back(daemon.name);
        if (stopped && names.empty()) {
            no_start_ = RunLock::try_take(where.pid / ("start.lock." + where.host));
            if (no_start_ && find_running(where, site_.programs(where)).running.empty()) return;
            no_start_.reset();
            stopped = by_itself;  // somebody started the project meanwhile
        }
        if (waited >= options_.stop_wait)
            throw Error(fmt::format("Still running after {:.0f} s: {}; end them, then repeat this command",
                                    options_.stop_wait, fmt::join(names, ", ")));
        if (waited >= next_word) {
            say(fmt::format("{:.0f} s: waiting for {}", waited, fmt::join(names, ", ")));
            next_word += kProgress;
        }
        sleep_seconds(kPoll);
    }
}

void Adoption::renew(const std::vector<std::string>& programs) const {
    std::vector<std::string> words{(options_.prefix / "bin/make_project").string(), "--install_from",
                                   options_.prefix.string(), "--renew_programs", options_.project.string()};
    for (const std::string& name : programs) words.push_back(fs::path(name).filename());
    if (run_quietly(words) != 0) throw Error("make_project --renew_programs failed; what it said is above");
}

void Adoption::swap_programs() {
    say("Putting Sluice's programs in place");
    std::vector<std::string> programs(kNew.begin(), kNew.end());
    for (const char* name : kReplaced)
        if (!is_web_program(name) && is_there(options_.project / name)) programs.emplace_back(name);
    renew(state_.elsewhere ? std::vector<std::string>() : programs);
    if (std::ranges::none_of(site_.programs(site_.folders()).daemons, runs_scheduler))
        site_.write_config(with_daemon(site_.config_text(), "scheduler"));
    share_log(site_.folders().log);
}

void Adoption::start() {
    no_start_.reset();
    if (!state_.enabled) return say("The project was stopped before: it stays so");
    logs_.clear();
    for (const char* name : {"feeder.log", "transitioner.log", "scheduler.log"})
        logs_.emplace_back(site_.folders().log / name);
    say("Starting");
    // Cron's start holds it for a moment; then ours would refuse, as upstream's does.
    const HostFolders where = site_.folders();
    const fs::path busy = where.pid / ("start.lock." + where.host);
    for (double waited = 0;; waited += kPoll) {
        const bool free = !is_locked(busy);
        if (free && run_quietly({(options_.project / "bin/start").string()}) == 0) return;
        if (free && !is_locked(busy)) break;
        if (waited >= options_.stop_wait) throw Error(busy.string() + " is held by another start: end that");
        sleep_seconds(kPoll);
    }
    // It says so of each daemon that ends at once. One that was dead before is none of ours.
    for (const std::string& daemon : missing_daemons())
        if (is_swapped(daemon)) throw Error(fmt::format("bin/start failed, and '{}' does not run", daemon));
    say("bin/start failed: what it said is above. Feeder, transitioner and scheduler run");
}

/// Daemons that are to run here, and do not.
std::vector<std::string> Adoption::missing_daemons() const {
    std::vector<std::string> missing;
    for (const ConfiguredProgram& job : site_.programs(site_.folders()).daemons)
        if (!job.disabled && job.problem.empty() && !is_locked(job.lock_file)) missing.push_back(job.cmd);
    return missing;
}

/// Clients ask the URL, behind which there may be FastCGI, a proxy, or a relay in another folder.
std::string Adoption::silence() const {
    const double limit = std::min(kAnswerLimit, options_.watch);
    const std::string of_cgi = site_.silence("./cgi", kept_, limit), url = read_file(kept_ / "url").value_or("");
    if (!of_cgi.empty() || url.empty()) return of_cgi;
    const UrlAnswer said = ask_scheduler(url, limit);
    if (said.error.empty() && !said.project_down) return {};
    const char* reload = is_there(options_.project / "cgi-bin/fcgi")
                             ? "; if the web server runs cgi-bin/fcgi, reload it now: its processes are the old program"
                             : "";
    return (said.error.empty() ? url + " answers that the project is down" : said.error) + reload;
}

Look Adoption::look(double at, bool ask) {
    Look seen;
    seen.at = at;
    const std::string dead = "\n" + read_file(kept_ / "dead").value_or("");
    for (const std::string& daemon : missing_daemons())
        if (is_swapped(daemon) || dead.find("\n" + daemon + "\n") == dead.npos) seen.gone.push_back(daemon);
    if (ask) {
        seen.silence = silence();
        seen.served = seen.silence.empty();
    }
    for (LogTail& log : logs_)
        if (const std::string line = log.critical_line(); !line.empty()) seen.critical[log.file().string()] = line;
    return seen;
}

/// Until the scheduler serves, and then for the rest of the time that nothing breaks. Before it serves, its log calls
/// that critical at each request.
void Adoption::watch() {
    if (!state_.enabled) return;
    WatchRule rule(options_.watch);
    std::string silence;
    double next_question = 0, next_word = kProgress;
    const auto begin = Steady::now();
    for (double waited = 0; waited < options_.watch; waited = seconds_since(begin)) {
        refuse_if_interrupted();
        const bool served = rule.served(), ask = !served || waited >= next_question;
        if (ask) next_question = waited + kAskAgain;
        Look seen = look(waited, ask);
        if (ask) silence = seen.silence;
        if (!served) std::erase_if(seen.critical, [](const auto& log) { return is_requests_log(log.first); });
        if (const std::string wrong = rule.judge(seen); !wrong.empty()) throw Error(wrong);
        if (!served && rule.served()) {
            restore_delay();
            say(fmt::format("The scheduler serves; watching for {:.0f} s", options_.watch - waited));
        } else if (waited >= next_word) {
            say(fmt::format("{:.0f} of {:.0f} s{}{}", waited, options_.watch, silence.empty() ? "" : ": ", silence));
            next_word += kProgress;
        }
        sleep_seconds(1);
    }
    if (!rule.served())
        throw Error(fmt::format("The scheduler did not serve within {:.0f} s: {}", options_.watch, silence));
}

/// A FastCGI process that the web server keeps runs the program that was there, on a job array that is gone.
void Adoption::say_reload() const {
    if (is_there(options_.project / "cgi-bin/fcgi"))
        say("cgi-bin/fcgi: if the web server runs it, reload that now: its processes are the old program");
}

/// A dry run only looks: it holds nothing, and makes no file.
std::optional<FileLock> Adoption::begin() {
    site_.require_possible("sluice adopt");
    std::optional<FileLock> lock;
    if (options_.dry_run)
        site_.require_no_move();
    else
        lock = site_.begin_move();
    state_ = read_state();
    return lock;
}

bool Adoption::adopt() {
    const Interrupts interrupts;
    const auto lock = begin();
    if (state_.stage == Stage::kReverting || state_.stage == Stage::kUndoing || state_.stage == Stage::kForgetting)
        throw ConfigError("A move back was begun: finish it first: " + sluice_command("revert", options_.project));
    if (state_.stage == Stage::kAdopted) {
        say(fmt::format("{} has Sluice's programs already", options_.project.string()));
        return false;
    }
    if (is_there(options_.project / kCanaryFolder))
        throw ConfigError(
            fmt::format("Nothing was changed: a part of the hosts goes to Sluice already. End that first: {}",
                        sluice_command("canary --stop", options_.project)));
    if (state_.stage == Stage::kNone) refuse_swapped();
    const bool begins = state_.stage == Stage::kNone || state_.stage == Stage::kKeeping;
    if (begins) {
        look_at_scripts();
        require_sound();
    }
    say_plan(false);
    if (options_.dry_run) return true;
    if (begins) {
        site_.require_group_of_config();
        require_shareable_log(site_.folders().log);
        require_way_back();
    }
    try {
        move();
    } catch (const std::exception& error) {  // of the library's, too: a full disk
        const std::string why = error.what();
        say(fmt::format("It failed: {}\nGoing back", why));
        try {
            move_back();
        } catch (const std::exception& worse) {
            throw Error(fmt::format("{}; and on the way back: {}", why, worse.what()));
        }
        throw Error(fmt::format("The project has its old programs again: {}", why));
    }
    say_reload();
    say(fmt::format("{} has Sluice's programs. Back again: {}", options_.project.string(),
                    sluice_command("revert", options_.project)));
    return true;
}

/// From where it was left.
void Adoption::move() {
    if (state_.stage == Stage::kNone || state_.stage == Stage::kKeeping) {
        keep_originals();
        write_state(Stage::kStopping);
    }
    hold_clients(true);
    stop(true);
    write_state(Stage::kSwapping);
    swap_programs();
    refuse_if_interrupted();
    let_clients_in();
    start();
    watch();
    restore_delay();             // also of a project that was stopped: nobody watched it
    site_.remove_half_config();  // of a killed call
    write_state(Stage::kAdopted);
}

Adoption::Failure Adoption::failure() const {
    if (!changed_) return Failure::kRefused;
    const bool rests = state_.stage == Stage::kNone || state_.stage == Stage::kAdopted;
    return rests ? Failure::kUndone : Failure::kUnfinished;
}

const char* Adoption::stage() const { return kStages[static_cast<std::size_t>(state_.stage)]; }

void Adoption::clean_database() {
    say("Cleaning the database");
    if (const fs::path file = statements_file(); !run_statements_of(file, site_.config(), kept_))
        throw Error(fmt::format("{} failed; what it said is above. Repair that, then call: {}", file.string(),
                                sluice_command("revert", options_.project)));
}

/// config.xml first: as long as it can't be written, our programs are all there, and can be started again.
void Adoption::put_back() {
    say("Putting BOINC's programs back");
    const auto before = read_file(kept_ / "config.xml");
    // Who changed config.xml since keeps the change.
    const std::string now = with_option(site_.config_text(), kDelayOption, kShortDelay);
    const auto is = [&](const std::string& text) { return now == with_option(text, kDelayOption, kShortDelay); };
    const bool unchanged = before && (is(*before) || is(with_daemon(*before, "scheduler")));
    site_.write_config(with_option(unchanged ? *before : without_daemons(now, kOwnDaemons), kDelayOption, kShortDelay));
    put_programs_back(kept_, options_.project, programs());
}

/// As it was before, or before the way back began. Where no config.xml is kept, nothing has changed it yet.
void Adoption::restore_delay() const {
    auto before = read_file(kept_ / "config.xml.back");
    if (!before) before = read_file(kept_ / "config.xml");
    if (before) site_.write_config(with_option(site_.config_text(), kDelayOption, option_text(*before, kDelayOption)));
}

/// The last step: without the state there is nothing to finish. A call that was killed here must not put back a second
/// time: part of what it would need is gone.
void Adoption::forget() {
    if (state_.stage != Stage::kForgetting) write_state(Stage::kForgetting);
    return_web_programs();
    site_.remove_half_config();
    for (const char* folder : {"", "bin", "cgi-bin"}) {
        remove_halves(options_.project / folder, ".sluice_new");
        remove_halves(kept_ / folder, ".");
    }
    std::error_code not_empty;  // somebody else's files stay
    const MovedPrograms programs = this->programs();
    for (const auto& names : {programs.replaced, programs.added})
        for (const std::string& name : names) fs::remove(kept_ / name);
    if (state_.elsewhere) fs::remove(options_.project / kPrefixLink);
    for (const char* name : {"config.xml", "config.xml.back", "client.cnf", "answer", "dead", "url", "reserve", "state",
                             "bin", "cgi-bin", ""})
        fs::remove(kept_ / name, not_empty);
    state_.stage = Stage::kNone;
}

bool Adoption::all_ours() const {
    return std::ranges::all_of(kReplaced,
                               [&](const char* name) {
                                   return !is_there(options_.project / name) || is_ours(options_.project / name);
                               }) &&
           is_ours(options_.project / "bin/scheduler");
}

/// Feeder, transitioner, scheduler and our own daemons, as far as they run.
std::vector<std::string> Adoption::running_of_ours() const {
    const HostFolders where = site_.folders();
    std::vector<std::string> names;
    for (const RunningDaemon& daemon : find_running(where, site_.programs(where)).running)
        if (is_swapped(daemon.name) || std::ranges::find(kOwnDaemons, daemon.name) != kOwnDaemons.end())
            names.push_back(daemon.name);
    return names;
}

/// The database could not be cleaned, or something did not stop. After a move that was complete, ours are started again
/// if all of them are there. Otherwise the files go back, and what is left is for the next call.
void Adoption::go_on(const std::string& why) {
    if (state_.stage == Stage::kReverting && all_ours()) {
        if (std::ranges::none_of(site_.programs(site_.folders()).daemons, runs_scheduler))
            site_.write_config(with_daemon(site_.config_text(), "scheduler"));
        let_clients_in();
        start();
        restore_delay();
        write_state(Stage::kAdopted);
        throw Error(fmt::format("{}. The project goes on with Sluice's programs", why));
    }
    if (const auto names = running_of_ours(); !names.empty())
        throw Error(
            fmt::format("{}. The old programs were not put back beside Sluice's, which still run ({}): end them, "
                        "then call: {}",
                        why, fmt::join(names, ", "), sluice_command("revert", options_.project)));
    put_back();
    start_old();
    return_web_programs();
    throw Error(fmt::format("{}. The old programs run. When that is repaired, clean the database: {}", why,
                            sluice_command("revert", options_.project)));
}

/// It takes seconds and is not interrupted.
void Adoption::move_back() {
    std::error_code ignored;
    fs::remove(kept_ / "reserve", ignored);  // what follows writes little, and needs that room
    if (state_.stage == Stage::kStopping) {  // nothing was swapped but the scheduler
        changed_ = true;
        start_old();
    } else if (state_.stage != Stage::kKeeping && state_.stage != Stage::kForgetting) {
        if (state_.stage == Stage::kAdopted) {
            if (!try_statements(site_.config(), kept_))
                throw Error("Nothing was changed: the database could not be reached; what the client said is above");
            state_.enabled = site_.is_enabled();
            write_file_atomically(kept_ / "config.xml.back", site_.config_text(), 0600);
        }
        const bool complete = state_.stage == Stage::kAdopted || state_.stage == Stage::kReverting;
        write_state(complete ? Stage::kReverting : Stage::kUndoing);
        try {
            hold_clients(false);
            stop(false);
            clean_database();
        } catch (const Error& error) {
            go_on(error.what());
        }
        put_back();
        start_old();
    }
    forget();
    say_reload();
    say(fmt::format("{} has its old programs again", options_.project.string()));
}

bool Adoption::revert() {
    const Interrupts interrupts;
    const auto lock = begin();
    if (state_.stage == Stage::kNone) {
        say(fmt::format("{} was not moved by 'sluice adopt': there is nothing to go back to",
                        options_.project.string()));
        return false;
    }
    require_statements();
    if (options_.dry_run)
        say_plan(true);
    else
        move_back();
    return true;
}

}  // namespace sluice
