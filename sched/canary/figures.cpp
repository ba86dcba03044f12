// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/canary/figures.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <optional>

#include "sched/shadow/their_reply.h"
#include "sluice/base/files.h"
#include "sluice/base/text.h"

namespace sluice {
namespace {

constexpr std::size_t kLongestReason = 60;

/// No project has more.
std::int64_t as_number(std::uint64_t counted) {
    return static_cast<std::int64_t>(std::min(counted, std::uint64_t{1} << 40));
}

std::string text_of(const std::array<char, kLongestMessages>& counted) {
    std::string text(counted.data(), ::strnlen(counted.data(), counted.size()));
    std::ranges::replace_if(
        text, [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
    return text;
}

SideFigures side_figures(const SideCounts& counts) {
    SideFigures side;
    std::array<std::int64_t*, 4> not_sent{&side.refused, &side.idle, &side.down, &side.failed};
    for (std::size_t how = 0; how < counts.how.size(); ++how) {
        side.requests += as_number(counts.how[how]);
        if (how > 0) *not_sent[how - 1] = as_number(counts.how[how]);
    }
    side.jobs = as_number(counts.jobs);
    side.most_milliseconds = static_cast<double>(as_number(counts.most)) / 1000;
    std::ranges::transform(counts.times, side.times.begin(), as_number);
    for (const CountedReason& reason : counts.reasons)
        if (reason.n > 0)
            side.reasons[&reason == &counts.reasons.back() ? "other" : reason_of(text_of(reason.text))] +=
                as_number(reason.n);
    return side;
}

/// The web server's account owns the folder's files, and may put there what it likes: nothing is waited for, and no
/// more is read than the front writes.
std::optional<HourFigures> read_hour(const std::filesystem::path& path, std::int64_t hour) {
    OwnedFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    struct stat info {};
    if (file.get() < 0 || ::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode) ||
        info.st_size != sizeof(HourCounts))
        return std::nullopt;
    const auto counts = std::make_unique<HourCounts>();
    if (::read(file.get(), counts.get(), sizeof *counts) != static_cast<ssize_t>(sizeof *counts)) return std::nullopt;
    return HourFigures{hour, side_figures(counts->ours), side_figures(counts->theirs)};
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

double SideFigures::milliseconds(double part) const {
    const std::int64_t all = std::accumulate(times.begin(), times.end(), std::int64_t{0});
    auto left = static_cast<std::int64_t>(part * static_cast<double>(all - 1));
    for (std::size_t step = 0; all > 0 && step < times.size(); ++step)
        if ((left -= times[step]) < 0) return std::min(time_of_step(step) / 1000, most_milliseconds);
    return 0;
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
        auto figures = read_hour(folder / counts_file(hour), hour);
        if (figures && figures->ours.requests + figures->theirs.requests > 0) all.push_back(std::move(*figures));
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
