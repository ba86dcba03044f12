// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/adopt/adoption.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>
#include <thread>

#include "config/db_settings.h"
#include "config/load.h"
#include "config/run/command_words.h"
#include "config/run/own_programs.h"
#include "config/run/process_lock.h"
#include "config/run/run_state.h"
#include "config/run/spawn.h"
#include "sched/adopt/config_edit.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/process.h"
#include "sluice/base/project.h"
#include "sluice/base/text.h"
#include "sluice/base/users.h"

namespace sluice {
namespace {

/// What has upstream's place, and what upstream does not have.
constexpr std::array kReplaced{"bin/feeder", "bin/transitioner", "bin/show_shmem", "cgi-bin/cgi", "cgi-bin/fcgi"};
constexpr std::array kNew{"bin/sched_explain", "bin/sluice_tune", "bin/scheduler"};
/// Daemons that upstream does not have.
constexpr std::array<std::string_view, 7> kOwnDaemons{"scheduler",    "batches",  "batch_planner", "batch_shares",
                                                      "batch_upkeep", "gang_hub", "gang_planner"};
/// s after which a client may come back during the move. Upstream's cgi reads it, too, at each request.
constexpr const char* kDelayOption = "maintenance_delay";
constexpr const char* kShortDelay = "60";
constexpr double kPoll = 0.2;  // s
constexpr std::size_t kLongestAnswer = 1 << 20;
constexpr const char* kStages[] = {"none", "keeping", "swapping", "adopted", "reverting", "forgetting"};

/// Beside config.xml, while it is written: it holds a password.
constexpr const char* kHalfConfig = ".config.xml.sluice_new";

void sleep_seconds(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

bool is_there(const fs::path& file) {
    std::error_code ignored;
    return fs::exists(fs::symlink_status(file, ignored));
}

void require(bool done, const std::string& what, const fs::path& file) {
    if (!done) throw FileError(fmt::format("{} {}: {}", what, file.string(), file_problem(errno, file)));
}

/// Then it does not matter which group that is.
bool group_is_as_others(const struct stat& info) { return ((info.st_mode >> 3) & 7) == (info.st_mode & 7); }

/// In place of `to`, at once: what runs keeps the old program.
void copy_over(const fs::path& from, const fs::path& to) {
    const fs::path half = to.parent_path() / ("." + to.filename().string() + ".sluice_new");
    std::error_code error;
    fs::remove(half, error);
    fs::copy(from, half, fs::copy_options::copy_symlinks, error);
    if (error) throw FileError(fmt::format("Can't copy {} to {}: {}", from.string(), half.string(), error.message()));
    struct stat old {};
    if (::lstat(from.c_str(), &old) == 0 && S_ISREG(old.st_mode)) {
        const std::array<timespec, 2> times{old.st_atim, old.st_mtim};
        require(::utimensat(AT_FDCWD, half.c_str(), times.data(), 0) == 0, "Can't set the time of", half);
        // The web server's account may run it by its group only. A change of group takes setuid and setgid away.
        if (::lchown(half.c_str(), static_cast<uid_t>(-1), old.st_gid) == 0)
            require(::chmod(half.c_str(), old.st_mode & 07777) == 0, "Can't set the mode of", half);
    }
    require(::rename(half.c_str(), to.c_str()) == 0, "Can't replace", to);
}

/// Of folders that make_project put there to keep BOINC's tools/upgrade out.
void remove_upgrade_blocks(const fs::path& cgi_bin) {
    for (const char* name : {"cgi.old", "file_upload_handler.old"}) {
        std::error_code ignored;
        if (!fs::is_directory(fs::symlink_status(cgi_bin / name, ignored))) continue;
        fs::remove(cgi_bin / name / "README", ignored);
        fs::remove(cgi_bin / name, ignored);  // stays if somebody put a file there
        if (is_there(cgi_bin / (std::string(name) + ".saved")))
            fs::rename(cgi_bin / (std::string(name) + ".saved"), cgi_bin / name, ignored);
    }
}

fs::path statements_file(const fs::path& prefix) { return prefix / "share/sluice/going_back.sql"; }

/// What a killed call was writing: hidden files whose names have `part`.
void remove_halves(const fs::path& folder, std::string_view part) {
    std::error_code ignored;
    std::vector<fs::path> halves;
    for (const auto& entry : fs::directory_iterator(folder, ignored))
        if (const std::string name = entry.path().filename(); name[0] == '.' && name.find(part) != name.npos)
            halves.push_back(entry.path());
    for (const fs::path& half : halves) fs::remove(half, ignored);
}

int run_quietly(const std::vector<std::string>& words) {
    const std::string nothing;
    return run_script(words, 0, &nothing);
}

/// In quotes, as the client's option files have it.
std::string option_file_text(const DbSettings& db) {
    const auto quoted = [](std::string text) {
        replace_all(text, "\\", "\\\\");
        replace_all(text, "\"", "\\\"");
        return "\"" + text + "\"";
    };
    const std::string node = db.host.substr(0, db.host.find(','));  // of a cluster, any
    const std::size_t colon = node.rfind(':');
    std::string text = fmt::format("[client]\nuser={}\npassword={}\n", quoted(db.user), quoted(db.password));
    if (!node.empty()) text += fmt::format("host={}\n", quoted(node.substr(0, colon)));
    if (colon != node.npos) text += fmt::format("port={}\n", quoted(node.substr(colon + 1)));
    const char* socket = std::getenv("MYSQL_UNIX_PORT");  // the client's own files would win over it
    if (socket != nullptr && *socket != '\0') text += fmt::format("socket={}\n", quoted(socket));
    return text;
}

std::uintmax_t size_of(const fs::path& file) {
    std::error_code none;
    const auto size = fs::file_size(file, none);
    return none ? 0 : size;
}

/// Whether a program marked the line so. What a client sent may hold the mark, too, behind the stamp.
bool is_critical(std::string_view line) {
    constexpr std::string_view kStamp = " UTC", kProcess = " [PID=", kMark = " [CRITICAL] ";
    const std::size_t stamp = line.find(kStamp);
    if (stamp == line.npos) return false;
    line.remove_prefix(stamp + kStamp.size());
    if (line.starts_with(kProcess)) line.remove_prefix(std::min(line.find(']'), line.size() - 1) + 1);
    return line.starts_with(kMark);
}

/// The first line behind `from` that a program marked as critical. What lies before may be gigabytes.
std::string critical_line(const fs::path& log, std::uintmax_t from) {
    std::ifstream lines(log, std::ios::binary);
    lines.seekg(static_cast<std::streamoff>(from <= size_of(log) ? from : 0));
    for (std::string line; std::getline(lines, line);)
        if (is_critical(line)) return in_one_line(line);
    return "";
}

/// Until the feeder has filled the job array, each request is told so there, as critical.
bool is_requests_log(const fs::path& log) { return log.filename() == kWebLogs[0]; }

}  // namespace

Adoption::Adoption(AdoptionOptions options, FindErrors find_errors)
    : options_(std::move(options)), find_errors_(std::move(find_errors)), kept_(options_.project / "before-sluice") {}

Adoption::State Adoption::read_state() const {
    const auto text = read_file(kept_ / "state");
    if (!text) return {};
    std::istringstream words(*text);
    std::string stage, enabled;
    words >> stage >> enabled;
    const auto* const known = std::ranges::find(kStages, stage);
    if (known == std::end(kStages))
        throw ConfigError(
            fmt::format("{} is not understood: it names how far the move has come; put it back, or follow "
                        "docs/install.md by hand",
                        (kept_ / "state").string()));
    return {static_cast<Stage>(known - std::begin(kStages)), enabled == "on"};
}

void Adoption::write_state(Stage stage) {
    state_.stage = stage;
    write_file_atomically(kept_ / "state", fmt::format("{} {}\n", kStages[static_cast<std::size_t>(stage)],
                                                       state_.enabled ? "on" : "off"));
}

std::string Adoption::config_text() const {
    const fs::path file = options_.project / "config.xml";
    const auto text = read_file(file);
    if (!text) throw ConfigError(file.string() + " does not exist: name the project's folder");
    return *text;
}

/// With the group and mode of the old one: the web server's account reads it by its group. Where config.xml is a link,
/// what it leads to is replaced.
void Adoption::write_config(const std::string& text) const {
    if (text == config_text()) return;
    const fs::path file = fs::canonical(options_.project / "config.xml"), half = file.parent_path() / kHalfConfig;
    struct stat old {};
    require(::stat(file.c_str(), &old) == 0, "Can't look at", file);
    write_file_atomically(half, text, static_cast<int>(old.st_mode & 07700));
    require(::chown(half.c_str(), static_cast<uid_t>(-1), old.st_gid) == 0 || group_is_as_others(old),
            "Can't set the group of", half);
    require(::chmod(half.c_str(), old.st_mode & 07777) == 0, "Can't set the mode of", half);
    require(::rename(half.c_str(), file.c_str()) == 0, "Can't replace", file);
}

/// By trying it: which groups an account may give depends on more than its own.
void Adoption::require_group_of_config() const {
    const fs::path file = fs::canonical(options_.project / "config.xml"), half = file.parent_path() / kHalfConfig;
    struct stat old {};
    require(::stat(file.c_str(), &old) == 0, "Can't look at", file);
    write_file_atomically(half, "", 0600);
    const bool can = ::chown(half.c_str(), static_cast<uid_t>(-1), old.st_gid) == 0 || group_is_as_others(old);
    std::error_code ignored;
    fs::remove(half, ignored);
    if (!can)
        throw ConfigError(fmt::format(
            "Nothing was changed: {} has the group {}, which this account cannot give to the new one. As root: "
            "usermod -aG {} {}, then call this from a new session",
            file.string(), group_name(old.st_gid), group_name(old.st_gid), user_name(::geteuid())));
}

bool Adoption::is_enabled() const {
    return read_run_state(options_.project / fmt::format("run_state_{}.xml", short_host_name())).enabled;
}

HostFolders Adoption::folders() const {
    return host_folders(load_config_file(options_.project / "config.xml", options_.project).config, short_host_name());
}

ConfiguredPrograms Adoption::programs(const HostFolders& folders) const {
    const fs::path file = options_.project / "config.xml";
    return configured_programs(parse_daemons_and_tasks(config_text(), file.string()),
                               load_config_file(file, options_.project).config, folders);
}

void Adoption::require_possible() const {
    config_text();
    refuse_root("sluice adopt", options_.project);
    struct stat info {};
    require(::stat(options_.project.c_str(), &info) == 0, "Can't look at", options_.project);
    if (info.st_uid != ::geteuid())
        throw ConfigError(fmt::format("{} belongs to {}: run this as that account", options_.project.string(),
                                      user_name(info.st_uid)));
    for (const char* name : {"bin/start", "bin/stop"})
        if (!is_there(options_.project / name))
            throw ConfigError(fmt::format("{} is missing: the move stops and starts the project with it",
                                          (options_.project / name).string()));
    if (const ConfiguredPrograms list = programs(folders()); !list.other_hosts.empty())
        throw ConfigError(fmt::format("Daemons run on other machines, too ({}): follow docs/install.md by hand",
                                      fmt::join(list.other_hosts, ", ")));
}

void Adoption::say_plan(bool back) const {
    std::vector<std::string> replaced, added;
    for (const char* name : kReplaced)
        if (is_there(options_.project / name)) replaced.emplace_back(name);
    added.assign(kNew.begin(), kNew.end());
    fmt::print("Stop the project; clients are told to come back in {} s\n", kShortDelay);
    if (back) {
        fmt::print("Take out of the database what BOINC's programs do not know: {}\n",
                   statements_file(options_.prefix).string());
        fmt::print("Put back from {}: {}\nRemove: {}\n", kept_.string(), fmt::join(replaced, " "),
                   fmt::join(added, " "));
        fmt::print("config.xml: as it was, or without the daemons {}\n", fmt::join(kOwnDaemons, ", "));
    } else {
        fmt::print("Keep in {}: config.xml {}\n", kept_.string(), fmt::join(replaced, " "));
        fmt::print("Put Sluice's programs in their place, and add: {}\n", fmt::join(added, " "));
        fmt::print("config.xml: one more daemon, scheduler\n");
    }
    const bool starts = state_.stage == Stage::kNone || state_.stage == Stage::kAdopted ? is_enabled() : state_.enabled;
    fmt::print("{}\n", starts ? "Start the project" : "Leave the project stopped, as it is");
}

/// What leads back would cancel gangs and drop tables that such a project has worked with for long.
void Adoption::refuse_swapped() const {
    if (is_there(options_.project / kPrefixLink))
        throw ConfigError(fmt::format("{} has Sluice's programs already: its make_project has put them there",
                                      options_.project.string()));
    for (const char* name : kReplaced)
        if (is_there(kept_ / name))
            throw ConfigError(fmt::format(
                "{} was kept by hand: the project seems to have Sluice's programs already. If it has BOINC's, "
                "move {} away and call this again",
                (kept_ / name).string(), kept_.string()));
}

/// Never over what is kept already: by then the project may have our programs.
void Adoption::keep_originals() {
    for (const char* folder : {"bin", "cgi-bin"}) fs::create_directories(kept_ / folder);
    state_.enabled = is_enabled();
    write_state(Stage::kKeeping);
    for (const char* name : kReplaced)
        if (is_there(options_.project / name) && !is_there(kept_ / name))
            copy_over(options_.project / name, kept_ / name);
    for (const char* name : kNew)  // a project's own program of that name
        if (is_there(options_.project / name) && !is_there(kept_ / name))
            copy_over(options_.project / name, kept_ / name);
    if (!is_there(kept_ / "config.xml"))  // it holds a password
        write_file_atomically(kept_ / "config.xml", config_text(), 0600);
    write_state(Stage::kSwapping);
}

void Adoption::stop() {
    write_config(with_option(config_text(), kDelayOption, kShortDelay));
    fmt::print("Stopping\n");
    std::fflush(stdout);
    const HostFolders where = folders();
    bool stopped = false;
    for (double waited = 0;; waited += kPoll) {
        // A start that was begun before may still be under way: then stop refuses.
        stopped = stopped || run_quietly({(options_.project / "bin/stop").string()}) == 0;
        const PidFolder found = find_running(where, programs(where));
        if (stopped && found.running.empty()) return;
        if (waited >= options_.stop_wait) {
            std::vector<std::string> names;
            for (const RunningDaemon& daemon : found.running) names.push_back(daemon.name);
            throw Error(fmt::format("Still running after {:.0f} s: {}; end them, then call this again",
                                    options_.stop_wait, fmt::join(names, ", ")));
        }
        sleep_seconds(kPoll);
    }
}

void Adoption::swap_programs() {
    fmt::print("Putting Sluice's programs in place\n");
    std::fflush(stdout);
    std::vector<std::string> words{(options_.prefix / "bin/make_project").string(), "--install_from",
                                   options_.prefix.string(), "--renew_programs", options_.project.string()};
    for (const char* name : kReplaced)
        if (is_there(options_.project / name)) words.push_back(fs::path(name).filename());
    for (const char* name : kNew) words.push_back(fs::path(name).filename());
    if (run_quietly(words) != 0) throw Error("make_project --renew_programs failed; what it said is above");
    const auto runs = [&](const ConfiguredProgram& job) { return !job.words.empty() && job.words[0] == "scheduler"; };
    if (std::ranges::none_of(programs(folders()).daemons, runs)) write_config(with_daemon(config_text(), "scheduler"));
    share_log();
}

/// The daemon `scheduler` and the web server's account write one log. Upstream's cgi has made it as that account, and
/// may not keep the daemon out: it makes room for one of ours that the folder's group can write.
void Adoption::share_log() const {
    const fs::path folder = folders().log, log = folder / kWebLogs[0];
    const fs::path half = folder / ("." + std::string(kWebLogs[0]) + ".sluice_new");
    struct stat old {
    }, around{};
    if (::lstat(log.c_str(), &old) != 0) return;
    if (old.st_uid == ::geteuid() && ::access(log.c_str(), W_OK) == 0) return;
    require(::stat(folder.c_str(), &around) == 0, "Can't look at", folder);
    std::error_code ignored;
    fs::remove(half, ignored);
    const OwnedFd made(::open(half.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    require(made.get() >= 0, "Can't make", half);
    if (::fchown(made.get(), static_cast<uid_t>(-1), around.st_gid) != 0) errno = 0;
    const mode_t others = (around.st_mode & S_IWOTH) != 0 ? 0006 : 0;  // who made the old one may need them
    require(::fchmod(made.get(), 0660 | others) == 0, "Can't set the mode of", half);
    require(::rename(log.c_str(), (log.string() + ".before_sluice").c_str()) == 0, "Can't move away", log);
    require(::rename(half.c_str(), log.c_str()) == 0, "Can't make", log);
}

std::vector<Adoption::LogEnd> Adoption::log_ends() const {
    std::vector<LogEnd> ends;
    for (const char* name : {"feeder.log", "transitioner.log", "scheduler.log"}) {
        const fs::path file = folders().log / name;
        ends.push_back({file, size_of(file)});
    }
    return ends;
}

void Adoption::start() {
    if (!state_.enabled) return fmt::print("The project was stopped before: it stays so\n");
    logs_ = log_ends();
    fmt::print("Starting\n");
    std::fflush(stdout);
    // Cron's start holds it for a moment; then ours would refuse, as upstream's does.
    const HostFolders where = folders();
    const fs::path busy = where.pid / ("start.lock." + where.host);
    for (double waited = 0; is_locked(busy) && waited < options_.stop_wait; waited += kPoll) sleep_seconds(kPoll);
    if (run_quietly({(options_.project / "bin/start").string()}) != 0)
        throw Error("bin/start failed; what it said is above");
}

std::string Adoption::missing_daemon() const {
    for (const ConfiguredProgram& job : programs(folders()).daemons)
        if (!job.disabled && job.problem.empty() && !is_locked(job.lock_file)) return job.cmd;
    return "";
}

/// What cgi-bin/cgi says to a request without a host.
std::string Adoption::answer() const {
    const fs::path file = kept_ / "answer";
    const std::string command =
        "cd \"$1\"/cgi-bin && REQUEST_METHOD=POST CONTENT_LENGTH=0 exec ./cgi < /dev/null > \"$2\" 2> /dev/null";
    run_quietly({"/bin/sh", "-c", command, "sh", options_.project.string(), file.string()});
    const std::string text = read_file(file, kLongestAnswer).value_or("");
    fs::remove(file);
    return text;
}

/// Until the scheduler serves, and then for the rest of the time that nothing breaks.
void Adoption::watch() {
    if (!state_.enabled) return;
    bool serves = false;
    for (double waited = 0; waited < options_.watch; waited += 1) {
        if (!serves) {
            const std::string said = answer();
            serves =
                said.find("<scheduler_reply>") != std::string::npos && said.find("<project_is_down/>") == said.npos;
            if (serves) {
                restore_delay();
                for (LogEnd& log : logs_)
                    if (is_requests_log(log.file)) log.size = size_of(log.file);
                fmt::print("The scheduler serves; watching for {:.0f} s\n", options_.watch - waited);
                std::fflush(stdout);
            }
        }
        sleep_seconds(1);
        if (const std::string gone = missing_daemon(); !gone.empty()) throw Error(fmt::format("'{}' has ended", gone));
        for (const LogEnd& log : logs_) {
            if (!serves && is_requests_log(log.file)) continue;
            if (const std::string line = critical_line(log.file, log.size); !line.empty())
                throw Error(fmt::format("{} says: {}", log.file.string(), line));
        }
    }
    if (!serves) throw Error(fmt::format("The scheduler did not serve within {:.0f} s", options_.watch));
}

/// A FastCGI process that the web server keeps runs the program that was there, on a job array that is gone.
void Adoption::say_reload() const {
    if (is_there(options_.project / "cgi-bin/fcgi"))
        fmt::print("cgi-bin/fcgi: if the web server runs it, reload that now: its processes are the old program\n");
}

/// Two at once would undo each other's work.
FileLock Adoption::begin() {
    require_possible();
    const fs::path folder = folders().pid;
    fs::create_directories(folder);
    auto lock = FileLock::try_lock(folder / "sluice_move.lock");
    if (!lock) throw Error("Another 'sluice adopt' or 'sluice revert' of this project is running: wait for its end");
    state_ = read_state();
    return std::move(*lock);
}

bool Adoption::adopt() {
    const FileLock lock = begin();
    if (state_.stage == Stage::kReverting || state_.stage == Stage::kForgetting)
        throw ConfigError("A move back was begun: finish it with 'sluice revert' first");
    if (state_.stage == Stage::kAdopted) {
        fmt::print("{} has Sluice's programs already\n", options_.project.string());
        return false;
    }
    if (state_.stage == Stage::kNone) refuse_swapped();
    if (const auto errors = find_errors_(options_.project); !errors.empty())
        throw ConfigError(
            fmt::format("Nothing was changed. Mend this first (sluice check):\n{}", fmt::join(errors, "\n")));
    say_plan(false);
    if (options_.dry_run) return true;
    require_group_of_config();
    require_way_back();
    if (state_.stage != Stage::kSwapping) keep_originals();
    stop();
    try {
        swap_programs();
        start();
        watch();
        restore_delay();  // also of a project that was stopped: nobody watched it
        remove_halves(fs::canonical(options_.project / "config.xml").parent_path(), kHalfConfig);  // of a killed call
        write_state(Stage::kAdopted);
    } catch (const Error& error) {
        const std::string why = error.what();
        fmt::print("It failed: {}\nGoing back\n", why);
        std::fflush(stdout);
        move_back();
        throw Error(fmt::format("The project has its old programs again: {}", why));
    }
    say_reload();
    fmt::print("{} has Sluice's programs. Back again: sluice revert {}\n", options_.project.string(),
               options_.project.string());
    return true;
}

/// Runs the file of statements, or without it looks whether that could be done. False: it failed, and said why.
bool Adoption::run_statements(const std::string& file) const {
    const ProjectConfig config = load_config_file(options_.project / "config.xml", options_.project).config;
    const fs::path options = kept_ / "client.cnf";
    const DbSettings db = db_settings(config);
    write_file_atomically(options, option_file_text(db), 0600);
    // The account's ~/.my.cnf is read last, and would win over what config.xml says.
    const std::string command =
        "client=$(command -v mariadb || command -v mysql) || { echo 'There is no mariadb or mysql client: install it' "
        ">&2; exit 1; }\n"
        "{ echo \"SET @project_hr = $4;\"; cat \"$2\"; } | HOME=/nonexistent \"$client\" --defaults-extra-file=\"$1\" \"$3\"";
    const int status = run_quietly({"/bin/sh", "-c", command, "sh", options.string(), file, db.name,
                                    std::to_string(config.homogeneous_redundancy)});
    fs::remove(options);
    return status == 0;
}

/// What a failure needs to lead back: better missed before anything is stopped.
void Adoption::require_way_back() const {
    require_statements();
    fs::create_directories(kept_);
    if (run_statements("/dev/null")) return;
    std::error_code not_empty;
    fs::remove(kept_, not_empty);
    throw Error("Nothing was changed: without the database there is no way back; what the client said is above");
}

void Adoption::require_statements() const {
    if (!is_there(statements_file(options_.prefix)))
        throw ConfigError(fmt::format("{} is missing: say with --install_from where Sluice is installed",
                                      statements_file(options_.prefix).string()));
}

void Adoption::clean_database() {
    fmt::print("Cleaning the database\n");
    std::fflush(stdout);
    if (const fs::path file = statements_file(options_.prefix); !run_statements(file))
        throw Error(
            fmt::format("{} failed; what it said is above. Mend that, then call 'sluice revert' again", file.string()));
}

void Adoption::put_back() {
    fmt::print("Putting BOINC's programs back\n");
    for (const char* name : kReplaced)
        if (is_there(kept_ / name)) copy_over(kept_ / name, options_.project / name);
    for (const char* name : kNew) {
        if (is_there(kept_ / name))
            copy_over(kept_ / name, options_.project / name);
        else
            fs::remove(options_.project / name);
    }
    remove_upgrade_blocks(options_.project / "cgi-bin");
    const auto before = read_file(kept_ / "config.xml");
    // Who changed config.xml since keeps the change.
    const std::string now = with_option(config_text(), kDelayOption, kShortDelay);
    const bool unchanged = before && now == with_option(with_daemon(*before, "scheduler"), kDelayOption, kShortDelay);
    write_config(with_option(unchanged ? *before : without_daemons(now, kOwnDaemons), kDelayOption, kShortDelay));
}

/// As it was before. Where no config.xml is kept, nothing has changed it yet.
void Adoption::restore_delay() const {
    if (const auto before = read_file(kept_ / "config.xml"))
        write_config(with_option(config_text(), kDelayOption, option_text(*before, kDelayOption)));
}

/// The last step: without the state there is nothing to finish. A call that was killed here must not put back a second
/// time: part of what it would need is gone.
void Adoption::forget() {
    if (state_.stage != Stage::kForgetting) {
        restore_delay();
        write_state(Stage::kForgetting);
    }
    remove_halves(fs::canonical(options_.project / "config.xml").parent_path(), kHalfConfig);
    for (const char* folder : {"", "bin", "cgi-bin"}) {
        remove_halves(options_.project / folder, ".sluice_new");
        remove_halves(kept_ / folder, ".");
    }
    std::error_code not_empty;  // somebody else's files stay
    for (const char* name : kReplaced) fs::remove(kept_ / name);
    for (const char* name : kNew) fs::remove(kept_ / name);
    for (const char* name : {"config.xml", "client.cnf", "answer", "state", "bin", "cgi-bin", ""})
        fs::remove(kept_ / name, not_empty);
}

void Adoption::move_back() {
    if (state_.stage != Stage::kKeeping && state_.stage != Stage::kForgetting) {
        if (!run_statements("/dev/null"))
            throw Error("Nothing was changed: the database could not be reached; what the client said is above");
        if (state_.stage == Stage::kAdopted) state_.enabled = is_enabled();
        write_state(Stage::kReverting);
        stop();
        clean_database();
        put_back();
        start();
    }
    forget();
    say_reload();
    fmt::print("{} has its old programs again\n", options_.project.string());
}

bool Adoption::revert() {
    const FileLock lock = begin();
    if (state_.stage == Stage::kNone) {
        fmt::print("{} was not moved by 'sluice adopt': there is nothing to go back to\n", options_.project.string());
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
