// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/adopt/watch.h"

#include <fmt/core.h>

#include <algorithm>
#include <fstream>

#include "sluice/base/log_record.h"
#include "sluice/base/text.h"

namespace sluice {
namespace {

constexpr int kLooks = 3;
constexpr double kFarApart = 12, kPartOfWatch = .2;  // s; of the watch

std::uintmax_t length_of(const std::filesystem::path& file) {
    std::error_code none;
    const auto size = std::filesystem::file_size(file, none);
    return none ? 0 : size;
}

}  // namespace

std::string WatchRule::judge(const Look& look) {
    std::map<std::string, int> gone;
    for (const std::string& daemon : look.gone) {
        gone[daemon] = gone_in_a_row_[daemon] + 1;
        if (gone[daemon] >= kLooks) return fmt::format("'{}' has ended", daemon);
    }
    gone_in_a_row_ = std::move(gone);
    for (const auto& [log, line] : look.critical) {
        Signs& signs = critical_[log];
        if (signs.looks++ == 0) signs.first = look.at;
        if (signs.looks >= kLooks && look.at - signs.first >= std::min(kFarApart, kPartOfWatch * length_))
            return fmt::format("{} says again and again: {}", log, line);
    }
    if (!look.served) return {};
    silent_in_a_row_ = *look.served ? 0 : silent_in_a_row_ + 1;
    served_ |= *look.served;
    if (!served_ || silent_in_a_row_ < kLooks) return {};
    return "the scheduler served, and then no longer: " + look.silence;
}

bool is_critical(std::string_view line) {
    constexpr std::string_view kStamp = " UTC", kProcess = " [PID=", kMark = " [CRITICAL] ", kHost = "[HOST#",
                               kUser = "[USER#";
    const std::size_t stamp = line.find(kStamp);
    if (stamp == line.npos) return false;
    line.remove_prefix(stamp + kStamp.size());
    if (line.starts_with(kProcess)) line.remove_prefix(std::min(line.find(']'), line.size() - 1) + 1);
    if (!line.starts_with(kMark)) return false;
    line.remove_prefix(kMark.size());
    return !line.starts_with(kHost) && !line.starts_with(kUser);
}

LogTail::LogTail(std::filesystem::path file) : file_(std::move(file)), read_(length_of(file_)) {}

/// What lies before may be gigabytes. A log that became shorter is a new one.
std::string LogTail::critical_line() {
    if (const std::uintmax_t now = length_of(file_); now < read_) read_ = 0;
    std::ifstream lines(file_, std::ios::binary);
    lines.seekg(static_cast<std::streamoff>(read_));
    std::string found;
    for (std::string line; std::getline(lines, line) && !lines.eof();) {  // the last one may be half written
        read_ += line.size() + 1;
        if (!found.empty()) continue;
        if (const std::string text = as_text_line(line); is_critical(text)) found = in_one_line(text);
    }
    return found;
}

}  // namespace sluice
