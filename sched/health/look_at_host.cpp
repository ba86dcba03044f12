// SPDX-License-Identifier: LGPL-3.0-or-later
#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/options/schema_findings.h"
#include "config/run/configured_programs.h"
#include "config/run/foreground.h"
#include "config/run/hanging.h"
#include "config/run/own_programs.h"
#include "config/run/process_lock.h"
#include "config/run/run_state.h"
#include "sched/health/gather.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/log_record.h"
#include "sluice/base/project.h"
#include "sluice/base/signing.h"
#include "sluice/base/text.h"
#include "sluice/shmem/job_array.h"

namespace sluice {
namespace {

constexpr std::size_t kTailBytes = 256 << 10;
constexpr double kLately = 600;  ///< s of the logs that count

/// The end of a log, whole lines; "" if it can't be read.
std::string tail_of(const fs::path& file) {
    const OwnedFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    struct stat info {};
    if (fd.get() < 0 || ::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) return "";
    std::string text(std::min<std::size_t>(static_cast<std::size_t>(info.st_size), kTailBytes), '\0');
    const auto start = info.st_size - static_cast<off_t>(text.size());
    const ssize_t got = ::pread(fd.get(), text.data(), text.size(), start);
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (start > 0) text.erase(0, std::min(text.find('\n') + 1, text.size()));
    return text;
}

/// How a line of a log of texts begins at that time: the lines sort by it.
std::string stamp(double time) {
    return fmt::format("{:%Y-%m-%d %H:%M:%S}", fmt::gmtime(static_cast<std::time_t>(time)));
}

/// Calls `take` with each line of the last minutes.
template <typename Take>
void for_recent_lines(const std::string& tail, double now, Take take) {
    const std::string from = stamp(now - kLately);
    for (const std::string_view each : split(tail, '\n')) {
        const std::string whole = as_text_line(each);
        const std::string_view line = whole;
        if (line.size() > from.size() && line.substr(0, from.size()) >= from && line[4] == '-') take(line);
    }
}

pid_t holder_of(const ConfiguredProgram& program, const std::map<GuardPlace, pid_t>& guarded) {
    if (program.name.empty()) return 0;
    const auto place = guarded.find(program.place);
    return lock_holder(program.lock_file).value_or(place == guarded.end() ? 0 : place->second);
}

void look_at_triggers(const fs::path& project, HealthFacts& facts) {
    for (const TriggerFile& trigger : triggers_present(project)) {
        struct stat info {};
        if (::stat((project / trigger.name).c_str(), &info) != 0) continue;  // it went meanwhile
        const bool is_normal = facts.now - static_cast<double>(info.st_mtime) < trigger.normal_age;
        if (is_normal) continue;
        (trigger.stops_work ? facts.triggers : facts.reminders).push_back(trigger_text(trigger));
    }
}

void look_at_programs(const HostFolders& folders, const DaemonsAndTasks& entries, const ProjectConfig& config,
                      HealthFacts& facts) {
    const ConfiguredPrograms programs = configured_programs(entries, config, folders);
    const auto guarded = guard_holders(folders.guard);
    RunState state;
    try {
        state = read_run_state(folders.project / ("run_state_" + folders.host + ".xml"));
    } catch (const Error& error) {
        facts.run_state_error = error.what();
    }
    facts.enabled = state.enabled;
    facts.target = units_mark(folders.project).value_or(UnitsMark{}).target;
    for (const ConfiguredProgram& program : programs.daemons) {
        DaemonFacts daemon{program.cmd, program.disabled, holder_of(program, guarded), false, program.problem};
        daemon.stopped = daemon.pid != 0 && is_stopped(daemon.pid);
        facts.daemons.push_back(std::move(daemon));
    }
    for (const ConfiguredProgram& program : programs.tasks) {
        const auto last = state.last_run.find(program.cmd);
        facts.tasks.push_back({program.cmd, program.disabled, holder_of(program, guarded) != 0,
                               last == state.last_run.end() ? 0 : last->second, program.period});
    }
    facts.life = life_signs(folders.project);
}

void look_at_keys(const ProjectConfig& config, HealthFacts& facts) {
    const fs::path keys = config.key_dir;
    if (config.ignore_upload_certificates || config.dont_generate_upload_certificates) return;
    try {
        const std::string text = "sluice health";
        if (!PublicKey::read(keys / "upload_public").verify(text, PrivateKey::read(keys / "upload_private").sign(text)))
            facts.key_errors.push_back(
                (keys / "upload_public").string() +
                " is not the key of upload_private: the upload handler refuses every output of a new job");
    } catch (const Error& error) {
        facts.key_errors.emplace_back(error.what());
    }
}

void look_at_logs(const HostFolders& folders, HealthFacts& facts) {
    std::error_code none;
    std::vector<fs::path> files;
    for (fs::directory_iterator entry(folders.log, none), end; !none && entry != end; entry.increment(none))
        if (entry->path().extension() == ".log" && files.size() < 200) files.push_back(entry->path());
    std::ranges::sort(files);
    for (const fs::path& file : files) {
        struct stat info {};
        if (::stat(file.c_str(), &info) != 0 || static_cast<double>(info.st_mtime) < facts.now - kLately) continue;
        const std::string tail = tail_of(file);
        LogFacts log;
        log.file = file.filename().string();
        for_recent_lines(tail, facts.now, [&](std::string_view line) {
            const std::size_t mark = line.find(" [CRITICAL] ");
            if (mark == std::string_view::npos) return;
            ++log.lines;
            log.last = line.substr(mark + 12, 200);
        });
        if (log.lines > 0) facts.logs.push_back(log);
        if (log.file != "scheduler.log") continue;
        for_recent_lines(tail, facts.now, [&](std::string_view line) {
            const std::size_t reply = line.find("Sending reply to [HOST#"), results = line.find("]: ", reply);
            if (reply == line.npos || results == line.npos) return;
            const auto number = line.substr(results + 3, line.find(' ', results + 3) - results - 3);
            ++(parse_int(number).value_or(0) > 0 ? facts.replies.with_work : facts.replies.without_work);
        });
    }
}

void look_at_array(const ProjectConfig& config, bool enabled, HealthFacts& facts) {
    if (!enabled) return;
    try {
        const auto array = JobArray::attach_read_only(job_array_name(config.shmem_key, config.project_dir));
        const JobArrayStats stats = array->stats();
        facts.array.slots = stats.slots;
        facts.array.present = stats.present;
        facts.array.heartbeat = static_cast<double>(stats.feeder_heartbeat);
    } catch (const Error& error) {
        facts.array.error = error.what();
    }
}

/// When the project's keys were made; nobody makes them anew later.
double time_of_keys(const ProjectConfig& config) {
    struct stat info {};
    const std::string file = (fs::path(config.key_dir) / "code_sign_public").string();
    return ::stat(file.c_str(), &info) == 0 ? static_cast<double>(info.st_mtime) : 0;
}

}  // namespace

void look_at_host(const std::filesystem::path& project, const LoadedConfig& loaded, const DaemonsAndTasks& entries,
                  HealthFacts& facts) {
    const ProjectConfig& config = loaded.config;
    const HostFolders folders = host_folders(config, short_host_name());
    std::error_code none;
    look_at_programs(folders, entries, config, facts);
    look_at_triggers(project, facts);
    const auto runs_feeder = [](const DaemonFacts& daemon) {
        return !daemon.disabled && fs::path(daemon.command.substr(0, daemon.command.find(' '))).filename() == "feeder";
    };
    const fs::path feeder = project / "bin/feeder";
    facts.foreign_feeder = fs::exists(feeder, none) && !is_own_program(installed_program(feeder));
    look_at_array(config, facts.enabled && !facts.foreign_feeder && std::ranges::any_of(facts.daemons, runs_feeder),
                  facts);
    facts.born = time_of_keys(config);
    look_at_keys(config, facts);
    look_at_logs(folders, facts);
}

}  // namespace sluice
