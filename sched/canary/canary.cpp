// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/canary/canary.h"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <sstream>
#include <string_view>
#include <thread>

#include "config/db_settings.h"
#include "config/load.h"
#include "config/run/divided_copies.h"
#include "config/run/own_programs.h"
#include "config/run/process_lock.h"
#include "config/run/spawn.h"
#include "sched/adopt/config_edit.h"
#include "sched/adopt/divided_programs.h"
#include "sched/adopt/program_files.h"
#include "sched/adopt/statements.h"
#include "sched/canary/choice.h"
#include "sluice/base/error.h"
#include "sluice/base/process.h"
#include "sluice/base/text.h"
#include "sluice/base/users.h"
#include "sluice/db/tables_version.h"

namespace sluice {
namespace {

constexpr const char *kFeeder = kDividedFeeder, *kScheduler = kDividedScheduler;
constexpr std::array<std::string_view, 2> kDaemons{kFeeder, kScheduler};
constexpr const char* kStages[] = {"none", "beginning", kDividingState.data(), "ending"};
constexpr const char *kCgi = "cgi-bin/cgi", *kNewFront = "new_front", *kConfigBefore = "config.before",
                     *kConfigDivided = "config.divided", *kCanaryReserve = "reserve";
constexpr double kPoll = 0.2;  // s

void say(const std::string& line) {
    std::fputs((line + "\n").c_str(), stdout);
    std::fflush(stdout);
}

void sleep_seconds(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

/// While it lives nobody starts daemons.
RunLock keep_from_starting(const HostFolders& where, double patience) {
    for (double waited = 0; waited < patience; waited += kPoll) {
        if (auto lock = RunLock::try_take(where.pid / ("start.lock." + where.host))) return std::move(*lock);
        sleep_seconds(kPoll);
    }
    throw Error("bin/start or bin/stop has run for too long: end it, then repeat this command");
}

bool is_daemon_of_ours(const std::string& name) { return std::ranges::find(kDaemons, name) != kDaemons.end(); }

}  // namespace

Canary::Canary(CanaryOptions options)
    : options_(std::move(options)), site_(options_.project), folder_(options_.project / kCanaryFolder) {}

Canary::State Canary::read_state() const {
    const auto text = read_file(folder_ / kCanaryState);
    if (!text) return {};
    std::istringstream words(*text);
    std::string stage, tables;
    words >> stage >> tables;
    const auto* const known = std::ranges::find(kStages, stage);
    if (known == std::end(kStages))
        throw ConfigError(
            fmt::format("{} is not understood: put it back, or write 'ending' into it and call this with --stop",
                        (folder_ / kCanaryState).string()));
    return {static_cast<Stage>(known - std::begin(kStages)), tables != "no_tables"};
}

void Canary::write_state(State state) const {
    write_file_atomically(folder_ / kCanaryState, fmt::format("{} {}\n", kStages[static_cast<std::size_t>(state.stage)],
                                                              state.had_tables ? "tables" : "no_tables"));
}

int Canary::share() const { return canary_share(read_file(folder_ / kCanarySettings).value_or("")); }

void Canary::set_share(int share) const {
    write_file_atomically(folder_ / kCanarySettings, canary_settings(share), 0644);
}

std::filesystem::path Canary::figures() const { return folder_ / kCanaryFigures; }

bool Canary::is_front_there() const { return is_canary_front(options_.project / kCgi); }

std::vector<std::string> Canary::wrong() const {
    std::vector<std::string> lines;
    const State state = read_state();
    if (state.stage == Stage::kNone) return lines;
    const std::string again = "call " + sluice_command("canary --percent N", options_.project);
    if (state.stage != Stage::kDividing)
        lines.push_back(state.stage == Stage::kEnding
                            ? "Its end was broken off: call " + sluice_command("canary --stop", options_.project)
                            : "Its beginning was broken off: " + again);
    else if (!is_front_there())
        lines.push_back(
            fmt::format("{} is not the program that divides hosts (BOINC's tools/upgrade has put its own "
                        "there), and no host goes to Sluice: {}",
                        (options_.project / kCgi).string(), again));
    else if (share() == 0)
        lines.push_back(fmt::format("{} names no share, and no host goes to Sluice: {}",
                                    (folder_ / kCanarySettings).string(), again));
    if (const auto old = old_divided_programs(options_.project, options_.prefix); !old.empty())
        lines.push_back(fmt::format("Of another release than {}: {}. Call {}, then bin/stop and bin/start",
                                    options_.prefix.string(), fmt::join(old, " "),
                                    sluice_command("upgrade", options_.project)));
    const HostFolders where = site_.folders();
    if (state.stage == Stage::kDividing && site_.is_enabled())
        for (const ConfiguredProgram& job : site_.programs(where).daemons)
            if (is_daemon_of_ours(job.name) && !is_locked(job.lock_file))
                lines.push_back(fmt::format("{} does not run: look into {}, then call {}", job.name,
                                            job.output.string(),
                                            shell_quoted((options_.project / "bin/start").string())));
    return lines;
}

void Canary::refuse_moved() const {
    if (is_there(options_.project / kPrefixLink))
        throw ConfigError(fmt::format("{} has Sluice's programs already: its make_project has put them there",
                                      options_.project.string()));
    if (is_there(options_.project / kReplacedFolder))
        throw ConfigError(
            fmt::format("{} was moved to Sluice's programs: all hosts go there. To divide them, call first: {}",
                        options_.project.string(), sluice_command("revert", options_.project)));
    for (const ConfiguredProgram& job : site_.programs(site_.folders()).daemons)
        if (is_daemon_of_ours(job.name))
            throw ConfigError(fmt::format("config.xml has a daemon {} already: remove it first", job.name));
    for (const std::string& name : {std::string("bin/") + kFeeder, std::string("bin/") + kScheduler})
        if (is_there(options_.project / name))
            throw ConfigError(
                fmt::format("{} is there already: move it away first", (options_.project / name).string()));
    if (!is_there(options_.project / kCgi))
        throw ConfigError(fmt::format("{} is missing: there is no scheduler to divide hosts with",
                                      (options_.project / kCgi).string()));
    if (const fs::path cgi = options_.project / kCgi; fs::is_symlink(cgi))
        if (const fs::path moved = (folder_ / fs::read_symlink(cgi)).lexically_normal(); !is_there(moved))
            throw ConfigError(fmt::format("{} is a link that leads nowhere from {}: put a copy of the program there",
                                          cgi.string(), folder_.string()));
    if (!site_.is_enabled())
        throw ConfigError(fmt::format("Nothing was changed: the project is stopped; call first: {}",
                                      shell_quoted((options_.project / "bin/start").string())));
}

void Canary::divide(int share) {
    site_.require_possible("sluice canary");
    const FileLock lock = site_.begin_move();
    State state = read_state();
    if (state.stage == Stage::kEnding)
        throw ConfigError("Its end was begun: finish it first: " + sluice_command("canary --stop", options_.project));
    if (state.stage == Stage::kDividing && wrong().empty()) {
        set_share(share);
        say(fmt::format("{} % of the hosts go to Sluice from now on", share / 100.));
        return;
    }
    if (state.stage == Stage::kNone) {
        refuse_moved();
        site_.require_group_of_config();
        Database db(db_settings(load_config_file(options_.project / "config.xml", options_.project).config));
        state.had_tables = tables_version(db).any;
    }
    try {
        fs::create_directories(folder_);
        write_state({Stage::kBeginning, state.had_tables});
        make_reserve(folder_ / kCanaryReserve);
        install();
        set_share(share);
        write_state({Stage::kDividing, state.had_tables});
    } catch (const std::exception& error) {
        const std::string why = error.what();
        say(fmt::format("It failed: {}\nUndoing it", why));
        undo(state);
        throw Error(fmt::format("The project is as it was: {}", why));
    }
    say(fmt::format("{} % of the hosts go to Sluice. What both do: {}", share / 100.,
                    sluice_command("canary", options_.project)));
}

void Canary::install() const {
    make_folders();
    if (!is_front_there()) copy_over(options_.project / kCgi, folder_ / kCanaryTheirs);
    put_divided_programs(options_.project, options_.prefix);
    if (!is_front_there()) set_share(0);
    add_daemons();
    share_log(site_.folders().log);
    start_daemons();
    put_canary_front(options_.project, options_.prefix);
}

/// The web server's account writes the figures. It is in the group of upload/, or of the project's folder.
void Canary::make_folders() const {
    const fs::path made = figures();
    std::error_code ignored;
    fs::create_directories(made);
    const fs::path like = is_there(options_.project / "upload") ? options_.project / "upload" : options_.project;
    struct stat info {};
    require(::stat(like.c_str(), &info) == 0, "Can't look at", like);
    if (::chown(made.c_str(), static_cast<uid_t>(-1), info.st_gid) != 0)
        throw ConfigError(fmt::format(
            "{} has the group {}, which this account cannot give to {}. As root: usermod -aG {} "
            "{}, then call this from a new session",
            like.string(), group_name(info.st_gid), made.string(), group_name(info.st_gid), user_name(::geteuid())));
    // Sticky and setgid: what the web server's account puts there this account reads, and nobody else takes it away.
    const mode_t others = (info.st_mode & S_IWOTH) != 0 ? 0007 : 0;
    require(::chmod(made.c_str(), 03770 | others) == 0, "Can't set the mode of", made);
    require(::chmod(folder_.c_str(), 0755) == 0, "Can't set the mode of", folder_);
}

/// Ours is to choose the jobs as theirs does.
std::string Canary::their_feeders_arguments() const {
    std::string arguments;
    for (const ConfiguredProgram& job : site_.programs(site_.folders()).daemons)
        if (job.name == "feeder" && !job.disabled) {
            for (std::size_t i = 1; i < job.words.size(); ++i) arguments += " " + shell_quoted(job.words[i]);
            break;
        }
    return arguments;
}

void Canary::add_daemons() const {
    const auto has = [&](const char* name) {
        return std::ranges::any_of(site_.programs(site_.folders()).daemons,
                                   [&](const ConfiguredProgram& job) { return job.name == name; });
    };
    const std::string before = site_.config_text();
    std::string text = before;
    if (!has(kFeeder)) text = with_daemon(text, xml_escape(kFeeder + their_feeders_arguments() + " --leave_reread_db"));
    if (!has(kScheduler)) text = with_daemon(text, kScheduler);
    if (text == before) return;
    for (const auto& [name, kept] : {std::pair{kConfigBefore, before}, std::pair{kConfigDivided, text}})
        write_file_atomically(folder_ / name, kept, 0600);  // it holds a password
    site_.write_config(text);
}

/// Byte for byte, unless somebody changed it since: who did keeps the change.
void Canary::take_daemons_out() const {
    const std::string now = site_.config_text();
    const auto before = read_file(folder_ / kConfigBefore);
    const bool unchanged = before && read_file(folder_ / kConfigDivided) == now;
    site_.write_config(unchanged ? *before : without_daemons(now, kDaemons));
}

/// By cron's start, which starts what does not run, and touches nothing else.
void Canary::start_daemons() const {
    say("Starting Sluice's feeder and scheduler beside the project's");
    const HostFolders where = site_.folders();
    for (double waited = 0;; waited += kPoll) {
        const auto jobs = site_.programs(where).daemons;
        const bool all_run = std::ranges::all_of(jobs, [](const ConfiguredProgram& job) {
            return !is_daemon_of_ours(job.name) || is_locked(job.lock_file);
        });
        const std::string ours = "../" + std::string(kCanaryFolder) + "/" + kCanaryOurs;
        if (all_run && site_.silence(ours, folder_, kAnswerLimit).empty()) return;
        if (waited >= options_.wait)
            throw Error(
                fmt::format("Sluice's scheduler did not serve within {:.0f} s: look into {}.log and {}.log in {}",
                            options_.wait, kFeeder, kScheduler, where.log.string()));
        // Another start may hold the lock; then ours did nothing.
        if (!all_run) run_quietly({(options_.project / "bin/start").string(), "--cron"}, options_.wait);
        sleep_seconds(kPoll);
    }
}

bool Canary::end() {
    site_.require_possible("sluice canary");
    const FileLock lock = site_.begin_move();
    const State state = read_state();
    if (state.stage == Stage::kNone) {
        if (is_there(folder_)) forget();  // of a call that was killed before it did anything
        say(fmt::format("All hosts of {} go to its own scheduler: there is nothing to end", options_.project.string()));
        return false;
    }
    undo(state);
    say(fmt::format("All hosts of {} go to its own scheduler again", options_.project.string()));
    return true;
}

void Canary::undo(State state) const {
    std::error_code ignored;
    fs::remove(folder_ / kCanaryReserve, ignored);  // what follows writes little, and needs that room
    write_state({Stage::kEnding, state.had_tables});
    set_share(0);
    put_back_their_scheduler();
    end_daemons();
    for (const char* name : {kFeeder, kScheduler}) fs::remove(options_.project / "bin" / name);
    const std::string statements = (options_.prefix / "share/sluice/going_back.sql").string();
    const ProjectConfig config = load_config_file(options_.project / "config.xml", options_.project).config;
    if (!state.had_tables && !run_statements_of(statements, config, folder_))
        throw Error(
            fmt::format("{} failed; what it said is above. All hosts go to the project's own scheduler. Repair "
                        "that, then call: {}",
                        statements, sluice_command("canary --stop", options_.project)));
    forget();
}

/// Where BOINC's tools/upgrade has put a new one there, that one stays.
void Canary::put_back_their_scheduler() const {
    if (!is_front_there()) return;
    if (!is_there(folder_ / kCanaryTheirs))
        throw Error(fmt::format("{} is gone: put the project's scheduler into {} by hand, then repeat this command",
                                (folder_ / kCanaryTheirs).string(), (options_.project / kCgi).string()));
    move_over(folder_ / kCanaryTheirs, options_.project / kCgi);
}

/// No start that has read the old config.xml may start them again meanwhile.
void Canary::end_daemons() const {
    say("Ending Sluice's feeder and scheduler");
    const HostFolders where = site_.folders();
    fs::create_directories(where.pid);
    const RunLock no_start = keep_from_starting(where, options_.wait);
    PidFolder found = find_running(where, site_.programs(where));
    std::erase_if(found.running, [](const RunningDaemon& daemon) { return !is_daemon_of_ours(daemon.name); });
    found.stale.clear();
    take_daemons_out();
    if (const StopOutcome outcome = stop_all(found, options_.wait, false); !outcome.still_running.empty())
        throw Error(fmt::format("Still running after {:.0f} s: {}; end them, then repeat this command", options_.wait,
                                fmt::join(outcome.still_running, ", ")));
}

/// The last step: without the state there is nothing to finish.
void Canary::forget() const {
    site_.remove_half_config();
    for (const char* name : {"", "bin", "cgi-bin", kCanaryFolder})
        remove_halves(options_.project / name, ".sluice_new");
    std::error_code ignored;
    fs::remove_all(figures());
    remove_halves(folder_, ".");  // of killed calls
    for (const char* name : {kCanaryTheirs, kCanaryOurs, kNewFront, kCanarySettings, kConfigBefore, kConfigDivided,
                             kCanaryReserve, "client.cnf", "answer", kCanaryState, ""})
        fs::remove(folder_ / name, ignored);
    if (is_there(folder_))
        throw Error(fmt::format(
            "All hosts go to the project's own scheduler again. {} holds files of somebody else: remove "
            "it, as root if need be: rm -r {}. Until then sluice adopt and sluice shadow --tee refuse this project",
            folder_.string(), shell_quoted(folder_.string())));
}

}  // namespace sluice
