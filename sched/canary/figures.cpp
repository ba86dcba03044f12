// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/canary/figures.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "sched/shadow/their_reply.h"
#include "sluice/base/files.h"
#include "sluice/base/text.h"

namespace sluice {
namespace {

constexpr std::size_t kMostReasons = 40, kLongestReason = 60;
/// The front's lines are shorter.
constexpr std::size_t kLongestLine = 4096;

/// The web server's account owns the folder's files, and may put there what it likes: nothing is waited for, and no
/// more is read than the front writes.
void read_hour(const std::filesystem::path& path, HourFigures& figures) {
    OwnedFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    struct stat info {};
    if (file.get() < 0 || ::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) return;
    std::string rest;
    std::vector<char> block(std::size_t{1} << 16);
    for (std::int64_t n = 0; n < kLongestFigures;) {
        const ssize_t got = ::read(file.get(), block.data(), block.size());
        if (got <= 0) return;
        n += got;
        rest.append(block.data(), static_cast<std::size_t>(got));
        std::size_t begin = 0;
        for (std::size_t end = 0; (end = rest.find('\n', begin)) != rest.npos; begin = end + 1)
            if (const auto served = served_request(std::string_view(rest).substr(begin, end - begin)))
                (served->ours ? figures.ours : figures.theirs).add(*served);
        rest.erase(0, begin);
        if (rest.size() > kLongestLine) rest.resize(1);  // no line of ours, however it goes on
    }
}

std::string reasons_text(const SideFigures& side) {
    std::vector<std::pair<std::string, std::int64_t>> sorted(side.reasons.begin(), side.reasons.end());
    std::ranges::sort(sorted, {}, [](const auto& r) { return -r.second; });
    std::string text;
    for (const auto& [reason, n] : sorted) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", reason, n);
    return text;
}

std::string side_text(const char* name, const SideFigures& side) {
    std::string text =
        fmt::format("  {:<7}{:>9}{:>9}{:>9}{:>9}{:>7}{:>8}{:>11.1f}{:>11.1f}\n", name, side.requests, side.jobs,
                    side.refused, side.idle, side.down, side.failed, side.milliseconds(.5), side.milliseconds(.95));
    if (const std::string reasons = reasons_text(side); !reasons.empty()) text += "         " + reasons + "\n";
    return text;
}

}  // namespace

void SideFigures::add(const ServedRequest& served) {
    ++requests;
    jobs += served.jobs;
    refused += served.how == ServedHow::kRefused ? 1 : 0;
    idle += served.how == ServedHow::kIdle ? 1 : 0;
    down += served.how == ServedHow::kDown ? 1 : 0;
    failed += served.how == ServedHow::kFailed ? 1 : 0;
    microseconds.push_back(served.microseconds);
    if (served.how != ServedHow::kRefused && served.how != ServedHow::kDown) return;
    const std::string reason = reason_of(served.messages);
    ++reasons[reasons.size() < kMostReasons || reasons.contains(reason) ? reason : "other"];
}

double SideFigures::milliseconds(double part) const {
    if (microseconds.empty()) return 0;
    std::vector<std::int64_t> times = microseconds;
    const auto at = times.begin() + static_cast<std::ptrdiff_t>(part * static_cast<double>(times.size() - 1));
    std::ranges::nth_element(times, at);
    return static_cast<double>(*at) / 1000;
}

std::string reason_of(const std::string& messages) {
    std::vector<std::string> each;
    for (const std::string_view message : split(messages, '|')) each.emplace_back(message);
    if (const std::string known = main_reason(told_reasons(each)); !known.empty()) return known;
    std::string text;
    for (const char c : std::string_view(messages).substr(0, messages.find('|')))
        if (c < '0' || c > '9')
            text += c;
        else if (!text.ends_with('#'))
            text += '#';
    return text.empty() ? "no_reason" : "'" + in_one_line(text, kLongestReason) + "'";
}

std::vector<HourFigures> read_figures(const std::filesystem::path& folder, std::int64_t now, std::int64_t hours) {
    std::vector<HourFigures> all;
    for (std::int64_t hour = now - hours + 1; hour <= now; ++hour) {
        HourFigures figures{hour, {}, {}};
        read_hour(folder / figures_file(hour), figures);
        if (figures.ours.requests + figures.theirs.requests > 0) all.push_back(std::move(figures));
    }
    return all;
}

std::string figures_text(const std::vector<HourFigures>& hours) {
    std::string text = "hour, UTC  requests     jobs  refused  no work   down  failed  median ms  95 % in ms\n";
    for (const HourFigures& figures : hours) {
        text += fmt::format("{:%Y-%m-%d %H:00}\n", fmt::gmtime(static_cast<std::time_t>(figures.hour * 3600)));
        text += side_text("ours", figures.ours) + side_text("theirs", figures.theirs);
    }
    return text;
}

}  // namespace sluice
