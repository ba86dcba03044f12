// SPDX-License-Identifier: LGPL-3.0-or-later
#include "config/options/daemon_findings.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string_view>

#include "config/run/command_words.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/process.h"
#include "sluice/base/text.h"

namespace sluice {

std::vector<std::vector<std::string>> enabled_commands(const DaemonsAndTasks& entries) {
    std::vector<std::vector<std::string>> all;
    const auto add = [&all](const auto& list) {
        for (const auto& entry : list) {
            if (entry.disabled) continue;
            try {
                all.push_back(command_words(entry.cmd));
            } catch (const ConfigError&) {  // an open quote: named elsewhere
            }
        }
    };
    add(entries.daemons);
    add(entries.tasks);
    return all;
}

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostSaid = 4096;
constexpr std::chrono::seconds kPatience{30};  ///< nothing but reading arguments is done

/// What comes through the pipe until its end.
std::string read_said(int pipe) {
    const auto until = Clock::now() + kPatience;
    std::string said;
    std::array<char, 512> part{};
    while (said.size() < kMostSaid) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
        pollfd ready{pipe, POLLIN, 0};
        if (left <= 0 || ::poll(&ready, 1, static_cast<int>(left)) == 0) return said;
        const ssize_t n = ::read(pipe, part.data(), part.size());
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return said;
        said.append(part.data(), static_cast<std::size_t>(n));
    }
    return said;
}

/// Its exit status; it is ended if it goes on.
int end_of(pid_t pid) {
    const auto until = Clock::now() + kPatience;
    std::optional<int> status;
    while (!(status = poll_child(pid))) {
        if (Clock::now() > until) ::kill(pid, SIGKILL);
        ::poll(nullptr, 0, 5);
    }
    return *status;
}

}  // namespace

std::string refusal_of(const std::filesystem::path& program, const std::vector<std::string>& arguments) {
    ::signal(SIGCHLD, SIG_DFL);  // ignored, as a caller may leave it, its exit status would be lost
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return std::string("can't make a pipe: ") + std::strerror(errno);
    OwnedFd mine(ends[0]), its(ends[1]);
    std::vector<std::string> words{program.string()};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t files;
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    ::posix_spawn_file_actions_adddup2(&files, its.get(), STDERR_FILENO);
    pid_t pid = 0;
    const int error = ::posix_spawn(&pid, program.c_str(), &files, nullptr, argv.data(), environ);
    ::posix_spawn_file_actions_destroy(&files);
    its = OwnedFd();
    if (error != 0) return std::string("can't be run: ") + std::strerror(error);
    const std::string said = read_said(mine.get());
    if (end_of(pid) == 0) return "";
    return said.empty() ? "it does not take its arguments, and says nothing"
                        : in_one_line(said.substr(0, said.find('\n')), 1000);
}

namespace {

/// It runs the daemons of batches that options enable.
constexpr std::string_view kJoint = "batches";

/// Also behind another program (nice, a path). What only shows its decisions does not carry them out.
bool runs(const std::vector<std::string>& words, std::string_view program) {
    const auto is = [&](const std::string& word) { return program_name({word}) == program; };
    const auto only_shows = [](const std::string& word) {
        return word.ends_with("-dry_run") || word.ends_with("-explain");
    };
    return std::ranges::any_of(words, is) && std::ranges::none_of(words, only_shows);
}

}  // namespace

std::vector<std::string> missing_daemons(const ProjectConfig& config, const DataForDaemons& data,
                                         const DaemonsAndTasks& entries) {
    const bool owned = config.gives_an_owner_to_jobs_without_batch();
    const bool shares = (data.batches || owned) && config.share_rule != ShareOrder::kOff;
    const bool plans = data.batches && config.plan_batches;
    const bool watch = data.batches && (config.batch_stop_failing || !config.batch_event_command.empty() ||
                                        !config.batch_event_mail.empty());
    const bool gangs = data.gangs || !config.gang_hub.empty();
    struct Need {
        std::string_view program, why, without;
        bool needed;
        std::string_view joint = {};  ///< another program that does its work
    };
    const Need needs[] = {
        {"batch_upkeep", "there are batches", "counts of batches are late and finished batches stay open",
         data.batches && (shares || plans), kJoint},
        {"batch_shares",
         data.batches ? "<share_rule> is on and there are batches" : "<jobs_without_batch> names a user",
         "streams are not charged, and batches that other programs make have no place in the order", shares, kJoint},
        {"batch_watch",
         "<batch_stop_failing>, <batch_event_command> or <batch_event_mail> is set and there are batches",
         "no batch is stopped, and nobody is told", watch, kJoint},
        {"batch_planner", "<plan_batches> is on and there are batches", "no batch is planned", plans, kJoint},
        {"gang_planner", data.gangs ? "there are gangs" : "<gang_hub> is set", "no job of a gang is ever sent", gangs,
         config.gang_hub.empty() ? "" : kJoint},
        {"gang_hub", data.gangs ? "there are gangs" : "<gang_hub> is set", "members of a gang can't meet", gangs},
    };
    const auto commands = enabled_commands(entries);
    std::vector<std::string> lines;
    for (const Need& need : needs) {
        const auto has_it = [&](const auto& words) {
            return runs(words, need.program) || (!need.joint.empty() && runs(words, need.joint));
        };
        if (!need.needed || std::ranges::any_of(commands, has_it)) continue;
        lines.push_back(
            fmt::format("{}, but {} is not among the <daemons>: {} (unless something else runs it); add "
                        "<daemon><cmd>{}</cmd></daemon> to the <daemons> of config.xml",
                        need.why, need.program, need.without, need.joint.empty() ? need.program : need.joint));
    }
    return lines;
}

std::vector<std::string> missing_tasks(const DaemonsAndTasks& entries, const std::filesystem::path& project) {
    struct Task {
        std::string_view program, period, without;
    };
    constexpr Task kTasks[] = {
        {"rotate_logs", "1 hour", "logs grow, unless logrotate or the like bounds them"},
        {"update_stats", "1 days", "recent credit never fades, and rows of hosts that are gone stay"},
        {"antique_file_deleter", "24 hours", "uploads of workunits that are gone stay"},
    };
    std::vector<std::vector<std::string>> commands;
    const auto add = [&](const auto& list) {
        for (const auto& entry : list) {
            std::vector<std::string>& words = commands.emplace_back();
            for (const auto word : split(entry.cmd, ' ')) words.emplace_back(word);
        }
    };
    add(entries.daemons);
    add(entries.tasks);
    std::vector<std::string> lines;
    for (const Task& task : kTasks) {
        if (std::ranges::any_of(commands, [&](const auto& words) { return runs(words, task.program); })) continue;
        std::string first;  // BOINC has no rotate_logs
        std::error_code ignored;
        if (!std::filesystem::exists(project / "bin" / task.program, ignored)) {
            const std::filesystem::path prefix = own_prefix();
            if (!std::filesystem::exists(prefix / "bin" / task.program, ignored)) continue;
            first =
                fmt::format("{} --renew_programs {} {}, then ", shell_quoted((prefix / "bin/make_project").string()),
                            shell_quoted(project.string()), task.program);
        }
        lines.push_back(fmt::format(
            "{0} is not among the <tasks>: {1}; to add it: {3}<task><cmd>{0}</cmd><period>{2}</period></task>",
            task.program, task.without, task.period, first));
    }
    return lines;
}

}  // namespace sluice
