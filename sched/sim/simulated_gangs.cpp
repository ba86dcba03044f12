// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/sim/simulated_gangs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "sluice/model/gang.h"

namespace sluice::sim {
namespace {

// As the sample gang_sum.
constexpr double kPatience = 300, kComeAgain = 900, kFirstWait = 0.05, kLongestWait = 60;
constexpr const char* kSecret = "sim";

std::size_t last_number(std::string_view line) {
    return static_cast<std::size_t>(std::stoull(std::string(line.substr(line.rfind(' ') + 1))));
}

}  // namespace

struct SimulatedGangs::Gang {
    GangToMake made;
    std::vector<Process> here{};         ///< processes that have not ended
    std::vector<Mark> marks{Mark{}};     ///< by checkpoint; 0: the beginning
    Mark now{};                          ///< since the last one, too
    double since_checkpoint = 0;         ///< s in which all computed
    bool met = false, together = false;  ///< ever; now
    double ended = 0;
    int breaks = 0;
    double lost = 0, first_wait = 0, later_waits = 0;
};

SimulatedGangs::SimulatedGangs(GangStore& store, BatchPlanStore& plans)
    : store_(store), plans_(plans), hub_(*this, *this, HubLimits{.connections = 1 << 20}, kSecret) {}
SimulatedGangs::~SimulatedGangs() = default;

void SimulatedGangs::add(const GangToMake& made) {
    Gang& gang = gangs_[made.id];
    gang.made = made;
    for (std::size_t m = 0; m < made.workunits.size(); ++m) seats_[made.workunits[m]] = {&gang, static_cast<int>(m)};
}

std::optional<SimulatedGangs::Process> SimulatedGangs::begin(Id workunit, const std::string& result, double speed,
                                                             double fails_at) {
    const auto seat = seats_.find(workunit);
    if (seat == seats_.end()) return std::nullopt;
    Gang& gang = *seat->second.first;
    Member m;
    m.gang = &gang;
    m.number = seat->second.second;
    m.tag = gang_tag(result);
    m.slot = visitor_;
    m.speed = speed, m.fails_at = fails_at;
    // Others send it their state, where the application knows how to.
    m.checkpoint = gang.made.spec.restart ? 0 : gang.marks.size() - 1;
    processes_.push_back(m);
    gang.here.push_back(processes_.size() - 1);
    return processes_.size() - 1;
}

void SimulatedGangs::let_run(Process process, bool runs, double now) {
    Member& m = processes_[process];
    if (m.runs == runs || m.gone) return;
    m.runs = runs;
    if (!runs || m.started) return;
    m.met = now, m.away_until = 0, m.wait = 0;
    if (m.link == 0) m.retry = now;
}

double SimulatedGangs::fraction_done(Process process) const {
    const Gang& gang = *processes_[process].gang;
    return gang.made.work > 0 ? std::min(1.0, gang.now.progress / gang.made.work) : 1;
}

void SimulatedGangs::leave(Process process, double now) {
    Member& m = processes_[process];
    if (std::exchange(m.gone, true)) return;
    m.runs = false;
    hang_up(m, now);
    std::erase(m.gang->here, process);
}

void SimulatedGangs::look(double now) {
    const double seconds = now_ > 0 ? now - now_ : 0;
    now_ = now;
    for (auto& [id, gang] : gangs_) {
        if (gang.here.empty()) continue;
        compute(gang, seconds);
        say_what_is_done(gang, now);
        const std::vector<Process> here = gang.here;
        for (const Process p : here) try_to_meet(p, now);
    }
    hub_.tick(now);
}

/// They wait for each other at each step: all get on as fast as the slowest one, or not at all.
void SimulatedGangs::compute(Gang& gang, double seconds) {
    double slowest = 0, started = 0, running = 0;
    for (const Process p : gang.here) {
        const Member& m = processes_[p];
        running += m.runs && m.fate == Fate::kOpen;
        if (!m.started || !m.runs) continue;
        slowest = started == 0 ? m.speed : std::min(slowest, m.speed);
        ++started;
    }
    if (static_cast<std::size_t>(started) < gang.made.workunits.size()) {
        (gang.met ? gang.later_waits : gang.first_wait) += running * seconds;
        return;
    }
    gang.since_checkpoint += seconds;
    gang.now.progress += slowest * seconds;
    for (const Process p : gang.here) {
        Member& m = processes_[p];
        if (!m.started) continue;
        gang.now.computed += seconds;
        gang.now.uneven += seconds * (1 - slowest / m.speed);
        m.gained += slowest * seconds;
    }
}

void SimulatedGangs::say_what_is_done(Gang& gang, double now) {
    std::vector<Process> started;
    for (const Process p : gang.here)
        if (processes_[p].started && processes_[p].runs) started.push_back(p);
    if (started.size() < gang.made.workunits.size()) return;
    for (const Process p : started) {
        Member& m = processes_[p];
        if (m.fails_at <= 0 || m.gained < m.fails_at * gang.made.work) continue;
        decide(m, Fate::kFailed);
        hang_up(m, now);
        return;
    }
    const bool done = gang.now.progress >= gang.made.work;
    if (!done && gang.since_checkpoint < gang.made.spec.checkpoint_minutes * 60) return;
    const std::size_t next = gang.marks.size();
    for (const Process p : started) {
        Member& m = processes_[p];
        if (!done) m.checkpoint = next;
        if (m.link != 0) hub_.line(m.link, done ? "DONE" : fmt::format("CHECKPOINT {}", next), now);
    }
}

void SimulatedGangs::try_to_meet(Process process, double now) {
    Member& m = processes_[process];
    if (!m.runs || m.fate != Fate::kOpen) return;
    if (m.link != 0) hub_.line(m.link, "ALIVE", now);
    if (m.started) return;
    if (now - m.met > kPatience) {
        m.away_until = std::ceil(now / kComeAgain) * kComeAgain;
        hang_up(m, now);
        return wake(m);
    }
    if (m.link != 0 || now < m.retry) return;
    m.link = ++last_link_;
    by_link_[m.link] = process;
    const GangSeat seat{m.gang->made.id, m.number};
    const std::string token = gang_instance_token(gang_token(kSecret, seat), m.tag);
    const std::string hello = fmt::format("HELLO {} {} {} {}", gang_name(seat.gang), seat.member, token, m.checkpoint);
    hub_.opened(last_link_, "sim", now);
    hub_.line(last_link_, hello, now);
}

void SimulatedGangs::send(LinkId link, std::string_view line) {
    const auto at = by_link_.find(link);
    if (at != by_link_.end()) hear(processes_[at->second], line);
}

/// The simulated database answers at once.
bool SimulatedGangs::ask(HubQuestion question) {
    hub_.answered(answer_of(*this, std::move(question)), now_);
    return true;
}

void SimulatedGangs::hear(Member& m, std::string_view line) {
    Gang& gang = *m.gang;
    if (line.starts_with("START ")) {
        if (!m.started) m.checkpoint = last_number(line);
        m.started = true, m.met = now_, m.wait = 0;
        restart(gang, m.checkpoint);
        return;
    }
    if (line.starts_with("COMMON ")) {
        if (last_number(line) < gang.marks.size()) return;  // another one has heard it
        gang.marks.push_back(gang.now);
        gang.since_checkpoint = 0;
        return;
    }
    // With all else the link ends.
    by_link_.erase(m.link);
    m.link = 0;
    const bool was_started = std::exchange(m.started, false);
    if (line == "END") return decide(m, Fate::kDone);
    if (was_started) go_back(gang), m.met = now_;
    if (line.starts_with("REFUSED")) return decide(m, Fate::kFailed);
    if (line.starts_with("GIVEN_UP")) return decide(m, Fate::kGivenUp);
    m.wait = std::min(2 * m.wait + kFirstWait, kLongestWait);
    m.retry = now_ + m.wait;
}

void SimulatedGangs::decide(Member& m, Fate fate) {
    if (m.fate != Fate::kOpen || m.gone) return;
    m.fate = fate;
    wake(m);
}

/// The connection is closed from this side.
void SimulatedGangs::hang_up(Member& m, double now) {
    const LinkId link = std::exchange(m.link, 0);
    if (link == 0) return;
    by_link_.erase(link);
    if (std::exchange(m.started, false)) go_back(*m.gang);
    hub_.drop(link, "closed the connection", now);
}

/// All are there. Each of them hears it: what comes first counts.
void SimulatedGangs::restart(Gang& gang, std::size_t checkpoint) {
    gang.met = gang.together = true;
    if (checkpoint + 1 >= gang.marks.size()) return;
    gang.lost += gang.marks.back().computed - gang.marks[checkpoint].computed;
    gang.marks.resize(checkpoint + 1);
    gang.now = gang.marks.back();
}

/// To the last common checkpoint; the others hear of it one after the other.
void SimulatedGangs::go_back(Gang& gang) {
    if (gang.ended > 0) return;
    gang.breaks += std::exchange(gang.together, false);
    gang.lost += gang.now.computed - gang.marks.back().computed;
    gang.now = gang.marks.back();
    gang.since_checkpoint = 0;
}

void SimulatedGangs::end(const GangId& id) {
    store_.end(id, static_cast<std::int64_t>(now_));
    gangs_.at(id).ended = now_;
}

std::vector<std::size_t> SimulatedGangs::take_hosts_to_wake() {
    std::vector<std::size_t> all = std::exchange(to_wake_, {});
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
}

GangFigures SimulatedGangs::figures() const {
    GangFigures f;
    for (const auto& [id, gang] : gangs_) {
        if (!gang.made.measured) continue;
        ++f.submitted;
        f.breaks += gang.breaks;
        const auto facts = store_.find(id);
        const bool in_vain = facts && facts->given_up;
        (in_vain ? f.lost : f.useful) += gang.now.computed / kHour;
        f.uneven += in_vain ? 0 : gang.now.uneven / kHour;
        f.lost += gang.lost / kHour;
        f.first_wait += gang.first_wait / kHour, f.later_waits += gang.later_waits / kHour;
        if (gang.ended <= 0) continue;
        ++f.done;
        f.hours.push_back((gang.ended - gang.made.submitted) / kHour);
    }
    return f;
}

}  // namespace sluice::sim
