// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/check/crontab.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "config/run/foreground.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/text.h"
#include "sluice/base/users.h"

namespace sluice {
namespace {

constexpr std::size_t kLongest = 1 << 20;
constexpr int kTimes = 5;

/// Without its first word, and the blanks behind it.
std::string_view behind_word(std::string_view line) {
    line.remove_prefix(std::min(line.find_first_of(" \t"), line.size()));
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    return line;
}

/// NAME=value, which sets a variable.
bool sets_variable(std::string_view line) {
    const std::size_t sign = line.find('=');
    const auto is_of_name = [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == ' ';
    };
    return sign != line.npos && sign > 0 && std::isdigit(static_cast<unsigned char>(line[0])) == 0 &&
           std::ranges::all_of(line.substr(0, sign), is_of_name);
}

/// `name` stands there as a program: behind a slash or blank, and before a blank or the end.
bool runs(std::string_view command, std::string_view name) {
    constexpr std::string_view kBefore = "/ \t;&|(", kBehind = " \t;&|)<>\n";
    for (std::size_t at = 0; (at = command.find(name, at)) != command.npos; at += name.size()) {
        const std::size_t end = at + name.size();
        const bool begins = at == 0 || kBefore.find(command[at - 1]) != kBefore.npos;
        if (begins && (end == command.size() || kBehind.find(command[end]) != kBehind.npos)) return true;
    }
    return false;
}

/// Not /projects/test2 for /projects/test.
bool names_project(std::string_view command, std::string_view project) {
    for (std::size_t at = 0; (at = command.find(project, at)) != command.npos; at += project.size()) {
        const std::size_t end = at + project.size();
        constexpr std::string_view kBehind = "/ \t;&|)<>\"'";
        if (end == command.size() || kBehind.find(command[end]) != kBehind.npos) return true;
    }
    return false;
}

/// Programs that bin/stop would not find: nobody waits for their end.
constexpr std::array kDaemons{"feeder", "transitioner"};
/// Both sides have one, and two of them would do the work twice.
constexpr std::array kScripts{"batch_stats.php", "batch_accel.php", "size_census.php"};

/// The whole output of a command without a shell's words of others in it.
std::string output_of(const std::string& command) {
    std::string text;
    FILE* pipe = ::popen((command + " 2> /dev/null").c_str(), "re");
    if (pipe == nullptr) return text;
    std::array<char, 4096> part{};
    for (std::size_t n = 0; (n = std::fread(part.data(), 1, part.size(), pipe)) > 0 && text.size() < kLongest;)
        text.append(part.data(), n);
    ::pclose(pipe);
    return text;
}

void append(std::vector<CronCommand>& all, std::vector<CronCommand> more) {
    all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

}  // namespace

std::vector<CronCommand> cron_commands(std::string_view text, const std::string& where, bool with_account) {
    std::vector<CronCommand> found;
    int number = 0;
    for (std::string_view line : split(text, '\n')) {
        ++number;
        line = trim(line);
        if (line.empty() || line[0] == '#' || sets_variable(line)) continue;
        const int words = (line[0] == '@' ? 1 : kTimes) + (with_account ? 1 : 0);
        for (int i = 0; i < words; ++i) line = behind_word(line);
        if (!line.empty()) found.push_back({where, number, std::string(line)});
    }
    return found;
}

std::vector<Finding> cron_findings(const std::vector<CronCommand>& commands, const std::filesystem::path& project) {
    std::vector<Finding> found;
    bool starts = false;
    for (const CronCommand& cron : commands) {
        if (!names_project(cron.command, project.string())) continue;
        starts |= runs(cron.command, "start") && cron.command.find("--cron") != std::string::npos;
        const std::string place = fmt::format("{}, line {}", cron.where, cron.line);
        for (const char* name : kDaemons)
            if (runs(cron.command, name))
                found.push_back({Importance::kError, FindingGroup::kWouldNotWork, "cron_runs_daemon",
                                 fmt::format("{} runs {}: bin/stop does not find it, and the move can't wait for it. "
                                             "Make it a <daemon> of config.xml: {}",
                                             place, name, in_one_line(cron.command)),
                                 ""});
        for (const char* name : kScripts)
            if (runs(cron.command, name))
                found.push_back({Importance::kNote, FindingGroup::kNotThere, "cron_runs_script",
                                 fmt::format("{} runs {}: it goes on. Remove it when Sluice's program of that name "
                                             "runs",
                                             place, name),
                                 ""});
    }
    const std::string line = fmt::format("*/5 * * * * {}/bin/start --cron", project.string());
    if (!starts && !units_mark(project))  // systemd does it
        found.push_back({Importance::kWarning, FindingGroup::kWouldNotWork, "no_cron",
                         fmt::format("no crontab that can be read runs bin/start --cron of this project: tasks wait, "
                                     "and a daemon that ended stays so; add to the crontab of its account: {}",
                                     line),
                         line});
    return found;
}

std::vector<CronCommand> read_crontabs(const std::string& account, std::string& unseen) {
    std::vector<CronCommand> all;
    const bool root = ::geteuid() == 0, own = user_name(::geteuid()) == account;
    if (!root && !own)
        unseen = fmt::format("the crontab of {} was not looked at: check as that account, or as root", account);
    else
        append(all,
               cron_commands(output_of(root && !own ? "crontab -u " + shell_quoted(account) + " -l" : "crontab -l"),
                             "crontab of " + account, false));
    std::vector<fs::path> files{"/etc/crontab"};
    std::error_code none;
    for (const auto& entry : fs::directory_iterator("/etc/cron.d", none)) files.push_back(entry.path());
    for (const fs::path& file : files) {
        try {
            append(all, cron_commands(read_file(file, kLongest).value_or(""), file.string(), true));
        } catch (const FileError&) {  // another account's
        }
    }
    return all;
}

}  // namespace sluice
