// SPDX-License-Identifier: LGPL-3.0-or-later
#include "tests/client/real/client_times.h"

#include <unistd.h>

#include <chrono>
#include <fstream>
#include <regex>
#include <sstream>

namespace sluice::test {
namespace {

double now() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

/// The fourth number of /proc/stat's first line, as seconds of one processor.
double idle_seconds() {
    std::ifstream in("/proc/stat");
    std::string cpu;
    double user = 0, nice = 0, system = 0, idle = 0;
    in >> cpu >> user >> nice >> system >> idle;
    return idle / static_cast<double>(::sysconf(_SC_CLK_TCK) * ::sysconf(_SC_NPROCESSORS_ONLN));
}

}  // namespace

std::vector<SaidLine> said_lines(const std::string& log) {
    std::vector<SaidLine> lines;
    std::istringstream in(log);
    for (std::string line; std::getline(in, line);) {
        std::tm t{};
        const char* rest = ::strptime(line.c_str(), "%d-%b-%Y %H:%M:%S ", &t);
        if (rest == nullptr) continue;
        t.tm_isdst = -1;
        lines.push_back({std::mktime(&t), rest});
    }
    return lines;
}

std::size_t said_place(const std::vector<SaidLine>& lines, const std::string& end, std::size_t from) {
    while (from < lines.size() && !lines[from].what.ends_with(end)) ++from;
    return from;
}

SpareTime::SpareTime() {
    idle_[now()] = idle_seconds();
    sampler_ = std::thread([this] {
        while (!end_) {
            ::usleep(200000);
            const std::lock_guard hold(lock_);
            idle_[now()] = idle_seconds();
        }
    });
}

SpareTime::~SpareTime() {
    end_ = true;
    sampler_.join();
}

double SpareTime::idle_by(double at) const {
    const auto next = idle_.lower_bound(at);
    return next == idle_.end() ? idle_.rbegin()->second : next->second;
}

double SpareTime::between(std::time_t begin, std::time_t end) const {
    const std::lock_guard hold(lock_);
    return idle_by(static_cast<double>(end + 1)) - idle_by(static_cast<double>(begin));
}

double SpareTime::idle_part() const {
    const std::lock_guard hold(lock_);
    const auto &first = *idle_.begin(), &last = *idle_.rbegin();
    return (last.second - first.second) / (last.first - first.first);
}

std::map<std::string, double> run_times(const std::vector<SaidLine>& lines, std::time_t now) {
    static const std::regex turn(
        R"(\[([^\]]+)\] (?:Starting task (\S+)|\[cpu_sched\] (?:Restarting task|Resuming) (\S+).*|)"
        R"(\[cpu_sched\] Preempting (\S+) .*|Computation for task (\S+) finished))");
    std::map<std::string, double> sum;
    std::map<std::string, std::pair<std::string, std::time_t>> running;  // task -> project, since
    for (const SaidLine& line : lines) {
        std::smatch m;
        if (!std::regex_match(line.what, m, turn)) continue;
        for (const int begins : {2, 3})
            if (m[begins].matched) running.try_emplace(m[begins], m[1], line.at);
        for (const int ends : {4, 5}) {
            const auto at = m[ends].matched ? running.find(m[ends]) : running.end();
            if (at == running.end()) continue;
            sum[at->second.first] += static_cast<double>(line.at - at->second.second);
            running.erase(at);
        }
    }
    for (const auto& [task, since] : running) sum[since.first] += static_cast<double>(now - since.second);
    return sum;
}

}  // namespace sluice::test
