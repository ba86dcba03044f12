// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/sim/population.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <sstream>

#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/text.h"

namespace sluice::sim {
namespace {

enum DrawnFor : std::uint64_t { kMachine = 1, kSessions = 2 };

struct OnOffFigures {
    double mean_on, shape_on, mean_off, sigma_off;
};
/// The laboratory's: sessions Weibull, gaps log-normal.
OnOffFigures figures(Habit habit) {
    switch (habit) {
        case Habit::kAlways: return {10 * kDay, 0.7, 3 * kHour, 1};
        case Habit::kDaily: return {8 * kHour, 1.5, 14 * kHour, 0.5};
        case Habit::kSporadic: return {4 * kHour, 1, 30 * kHour, 1.5};
        case Habit::kNeverOff: break;
    }
    return {1e12, 1, 1, 0};
}

}  // namespace

Sessions::Sessions(const HostSpec& host, std::uint64_t seed, double since_start)
    : habit_(host.habit),
      recorded_(host.sessions),
      rng_(seed, kSessions, host.number),
      on_(recorded_ ? false : rng_.uniform() < part_on()) {
    if (!recorded_) return;
    remaining_ = next();
    double passed = std::fmod(since_start, recorded_->period);
    for (; passed >= remaining_; toggle()) {
        passed -= remaining_;
        remaining_ = next();
    }
    remaining_ -= passed;
}

double Sessions::first(SmallRng& rng) {
    const double draw = rng.uniform();
    if (recorded_) return remaining_;
    const double whole = next();
    passed_ = whole - whole * draw;
    return whole * draw;
}

double Sessions::next() {
    if (recorded_) return recorded_->lengths[at_++ % recorded_->lengths.size()];
    const OnOffFigures f = figures(habit_);
    if (habit_ == Habit::kNeverOff) return f.mean_on;
    return std::max(1.0, on_ ? rng_.weibull(f.shape_on, f.mean_on) : rng_.log_normal(f.mean_off, f.sigma_off));
}

double Sessions::part_on() const {
    if (recorded_) return recorded_->on / recorded_->period;
    const OnOffFigures f = figures(habit_);
    return f.mean_on / (f.mean_on + f.mean_off);
}

HostSpec draw_host(const Fleet& fleet, std::uint64_t seed, std::uint64_t number) {
    SmallRng rng(seed, kMachine, number);
    HostSpec h;
    h.number = number;
    const double cores = rng.uniform(), habit = rng.uniform(), buffer = rng.uniform(), system = rng.uniform();
    h.cores = cores < 0.3 ? 1 : cores < 0.6 ? 2 : cores < 0.9 ? 4 : 8;
    h.speed = rng.log_normal(1, fleet.speed_sigma);
    h.habit = habit < fleet.always_on                 ? Habit::kAlways
              : habit < fleet.always_on + fleet.daily ? Habit::kDaily
                                                      : Habit::kSporadic;
    h.lifetime = fleet.lifetime_days > 0 ? rng.weibull(0.5, fleet.lifetime_days * kDay)
                                         : std::numeric_limits<double>::infinity();
    const double days = buffer < 0.5 ? 0.1 : buffer < 0.7 ? 0.5 : buffer < 0.85 ? 1 : buffer < 0.95 ? 3 : 5;
    h.buffer_min = std::max(180.0, days * kDay * fleet.buffer_factor);
    h.buffer_more = 2 * rng.uniform() * kDay * fleet.buffer_factor;
    h.error_rate = rng.chance(fleet.bad_hosts) ? fleet.bad_error_rate : fleet.error_rate;
    h.wrong_rate = fleet.wrong_rate;
    h.memory = fleet.memory_gb * 1e9 * std::exp(0.7 * rng.gaussian());
    h.disk = 50e9 + 200e9 * rng.uniform();
    h.files_room = fleet.files_gb * 1e9;
    h.gpus = rng.chance(fleet.gpu_hosts) ? 1 : 0;
    const double skew = 4 * kDay * (rng.uniform() - 0.5);
    h.clock_error = rng.chance(fleet.wrong_clocks) ? skew : 0;
    h.other_share = fleet.other_share;
    h.max_jobs_per_core = fleet.max_jobs_per_core;
    h.os = system < 0.7 ? "Microsoft Windows 10" : system < 0.9 ? "Linux Debian" : "Darwin";
    h.vendor = rng.chance(0.7) ? "GenuineIntel" : "AuthenticAMD";
    h.model = h.vendor == "GenuineIntel" ? "Intel(R) Core(TM) i5 [Family 6 Model 158 Stepping 10]"
                                         : "AMD Ryzen 5 [Family 23 Model 113 Stepping 0]";
    return h;
}

namespace {

std::vector<std::string> cells_of(const std::string& line) {
    std::vector<std::string> cells;
    std::istringstream in(line);
    for (std::string cell; std::getline(in, cell, ',');) {
        while (!cell.empty() && (cell.back() == '\r' || cell.back() == ' ')) cell.pop_back();
        cells.push_back(cell);
    }
    return cells;
}

Habit habit_of(const std::string& word, const std::string& place) {
    static const std::map<std::string, Habit> known = {{"always", Habit::kAlways},
                                                       {"daily", Habit::kDaily},
                                                       {"sporadic", Habit::kSporadic},
                                                       {"never_off", Habit::kNeverOff}};
    const auto at = known.find(word);
    if (at == known.end())
        throw Error(place + ": '" + in_one_line(word) + "' is no habit: give always, daily, sporadic or never_off");
    return at->second;
}

double number_of(const std::string& cell, const std::string& place) {
    double x = 0;
    const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), x);
    if (error != std::errc{} || end != cell.data() + cell.size() || !(x >= 0) || x > 1e12)
        throw Error(place + ": '" + in_one_line(cell) + "' is no number from 0 to 1e12");
    return x;
}

void set(HostSpec& h, const std::string& column, const std::string& cell, const std::string& place) {
    if (cell.empty()) return;
    if (column == "habit") {
        h.habit = habit_of(cell, place);
        return;
    }
    for (const auto& [name, to] : {std::pair("os", &h.os), {"vendor", &h.vendor}, {"model", &h.model}})
        if (column == name) {
            *to = cell;
            return;
        }
    const double x = number_of(cell, place);
    if (column == "speed" && x <= 0) throw Error(place + ": speed must be more than 0");
    if (column == "speed") h.speed = x;
    if (column == "cores") h.cores = static_cast<int>(std::clamp(x, 1.0, 4096.0));
    if (column == "gpus") h.gpus = static_cast<int>(std::clamp(x, 0.0, 64.0));
    if (column == "memory_gb") h.memory = x * 1e9;
    if (column == "disk_gb") h.disk = x * 1e9;
    if (column == "lifetime_days" && x > 0 && x < kLeastLifeDays)
        throw Error(place + fmt::format(": lifetime_days must be 0 (for ever) or at least {}", kLeastLifeDays));
    if (column == "lifetime_days") h.lifetime = x > 0 ? x * kDay : std::numeric_limits<double>::infinity();
    if (column == "buffer_min_days") h.buffer_min = std::max(180.0, x * kDay);
    if (column == "buffer_additional_days") h.buffer_more = x * kDay;
    if (column == "error_rate") h.error_rate = std::min(x, 1.0);
}

constexpr std::array kColumns = {
    "speed",     "cores", "gpus",  "memory_gb",     "disk_gb",         "os",
    "vendor",    "model", "habit", "lifetime_days", "buffer_min_days", "buffer_additional_days",
    "error_rate"};

}  // namespace

std::vector<HostSpec> read_trace(const Fleet& fleet, std::uint64_t seed) {
    const std::string& file = fleet.trace;
    const auto text = fleet.trace_text.empty() ? read_file(file) : fleet.trace_text;
    if (!text) throw Error("the trace " + file + " is not there");
    std::istringstream in(*text);
    std::string line;
    std::getline(in, line);
    const std::vector<std::string> columns = cells_of(line);
    bool has_speed = false;
    for (const std::string& c : columns) {
        has_speed |= c == "speed";
        if (std::find(kColumns.begin(), kColumns.end(), c) == kColumns.end())
            throw Error(
                fmt::format("{}:1: there is no column '{}' (docs/simulator.md lists them)", file, in_one_line(c)));
    }
    if (!has_speed) throw Error(file + ":1: the column speed is missing");
    std::vector<HostSpec> hosts;
    for (int number = 2; std::getline(in, line); ++number) {
        if (line.empty()) continue;
        const std::string place = file + ":" + std::to_string(number);
        const std::vector<std::string> cells = cells_of(line);
        if (cells.size() > columns.size()) throw Error(place + ": more cells than columns");
        HostSpec h = draw_host(fleet, seed, hosts.size());
        for (std::size_t i = 0; i < cells.size(); ++i) set(h, columns[i], cells[i], place);
        hosts.push_back(h);
    }
    if (hosts.empty()) throw Error(file + ": no hosts");
    return hosts;
}

std::vector<std::shared_ptr<const RecordedSessions>> read_sessions(const std::string& file) {
    const auto text = read_file(file);
    if (!text) throw Error("the sessions " + file + " are not there");
    std::istringstream in(*text);
    std::string line;
    std::getline(in, line);
    if (cells_of(line) != std::vector<std::string>{"host", "from_hours", "until_hours"})
        throw Error(file + ":1: the columns are host,from_hours,until_hours");
    std::vector<RecordedSessions> hosts;
    double last = 0;
    for (int number = 2; std::getline(in, line); ++number) {
        if (line.empty()) continue;
        const std::string place = file + ":" + std::to_string(number);
        const std::vector<std::string> cells = cells_of(line);
        if (cells.size() != 3) throw Error(place + ": give host, from_hours and until_hours");
        const double host = number_of(cells[0], place), from = kHour * number_of(cells[1], place),
                     until = kHour * number_of(cells[2], place);
        if (host > static_cast<double>(hosts.size())) throw Error(place + ": hosts are numbered 0, 1, … without a gap");
        if (host == static_cast<double>(hosts.size())) hosts.emplace_back();
        RecordedSessions& h = hosts[static_cast<std::size_t>(host)];
        if (from < h.period || until <= from) throw Error(place + ": sessions of a host must follow each other");
        h.lengths.insert(h.lengths.end(), {from - h.period, until - from});
        h.on += until - from;
        last = std::max(last, h.period = until);
    }
    if (hosts.empty()) throw Error(file + ": no sessions");
    std::vector<std::shared_ptr<const RecordedSessions>> all;
    const double period = kDay * std::ceil(last / kDay);
    for (RecordedSessions& h : hosts) {
        h.lengths.insert(h.lengths.end(), {period - h.period, 0});
        h.period = period;
        all.push_back(std::make_shared<const RecordedSessions>(std::move(h)));
    }
    return all;
}

}  // namespace sluice::sim
