// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/cleaning/old_logs.h"

#include <fmt/chrono.h>

#include <algorithm>
#include <ctime>
#include <string_view>

namespace sluice {
namespace {

constexpr std::int64_t kSecondsOfDay = 86400;
constexpr double kSoonCompressed = 7200;  // s: two runs of the task
constexpr std::string_view kPacked = ".gz", kNew = ".new", kDecisions = "decisions_", kRecords = ".jsonl";

bool ends_with(const std::string& text, std::string_view end) {
    return text.size() > end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

/// UNIX s of a time in UTC; nullopt if `text` is not exactly in this form.
std::optional<std::int64_t> time_of(const std::string& text, const char* form) {
    std::tm parts{};
    const char* end = ::strptime(text.c_str(), form, &parts);
    if (end == nullptr || *end != '\0') return std::nullopt;
    const std::time_t time = ::timegm(&parts);  // makes of February 30 the second of March
    char again[40];
    if (std::strftime(again, sizeof again, form, &parts) == 0 || text != again) return std::nullopt;
    return time;
}
constexpr const char* kStamp = "%Y%m%dT%H%M%SZ";

}  // namespace

bool rotation_due(const LogBounds& bounds, std::int64_t bytes, double begun, double now) {
    return bytes > 0 && (bytes > bounds.max_bytes || now - begun > bounds.every);
}

std::string old_log_name(const std::string& log, std::int64_t time) {
    return fmt::format("{}.{:%Y%m%dT%H%M%SZ}", log, fmt::gmtime(static_cast<std::time_t>(time)));
}

std::optional<OldLog> old_log(const std::string& file) {
    OldLog old;
    old.packed = ends_with(file, kPacked), old.plain = !old.packed;
    old.name = old.packed ? file.substr(0, file.size() - kPacked.size()) : file;
    if (old.name.starts_with(kDecisions) && ends_with(old.name, kRecords)) {
        const auto day = old.name.substr(kDecisions.size(), old.name.size() - kDecisions.size() - kRecords.size());
        const auto time = time_of(day, "%Y-%m-%d");
        if (!time) return std::nullopt;
        // Its name is the day where the scheduler is: that begins and ends up to 14 hours before or after UTC's.
        old.log = "decisions", old.time = *time + 2 * kSecondsOfDay;
        return old;
    }
    const std::size_t dot = old.name.rfind('.');
    if (dot == std::string::npos || dot == 0 || old.name.front() == '.') return std::nullopt;
    const auto time = time_of(old.name.substr(dot + 1), kStamp);
    if (!time) return std::nullopt;
    old.log = old.name.substr(0, dot), old.time = *time;
    return old;
}

std::string half_rotated(const std::string& file) {
    if (file.front() != '.' || !ends_with(file, kNew)) return "";
    const std::string log = file.substr(1, file.size() - 1 - kNew.size());
    return log.empty() || ends_with(log, kPacked) ? "" : log;
}

bool is_of_a_request(const std::string& file) {
    const std::size_t begin = file.find("_sched");
    if (begin == std::string::npos || begin == 0 || file.front() == '_') return false;
    const std::string end = file.substr(begin);
    return file.find_first_not_of("0123456789_") == begin + 1 &&  // behind the underscore
           (end == "_sched.log" || end == "_sched_request.xml" || end == "_sched_reply.xml");
}

std::vector<OldLog> surplus(std::vector<OldLog> olds, const LogBounds& bounds, double now) {
    std::ranges::sort(olds, [](const OldLog& a, const OldLog& b) { return a.time > b.time; });
    std::vector<OldLog> gone;
    std::int64_t kept = 0, bytes = 0;
    const double most = static_cast<double>(bounds.max_bytes) * std::max(bounds.keep, 1);
    for (const OldLog& old : olds) {
        // Its program still has it open: the next run compresses it, and then it counts. It drives out none till then.
        const bool is_new = old.plain && now - static_cast<double>(old.time) < kSoonCompressed;
        const std::int64_t size = is_new ? 0 : old.bytes;
        const bool too_old = now - static_cast<double>(old.time) > bounds.keep_for;
        const bool too_many = old.log != "decisions" && kept >= bounds.keep;
        const bool too_large = kept > 0 && static_cast<double>(bytes + size) > most;
        if (too_old || too_many || too_large)
            gone.push_back(old);
        else
            ++kept, bytes += size;
    }
    return gone;
}

}  // namespace sluice
