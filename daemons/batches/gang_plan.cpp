// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/batches/gang_plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>

#include "sluice/model/gang.h"

namespace sluice {
namespace {

constexpr double kTypicalOff = 12 * 3600;  ///< s that a host is off in the middle
constexpr double kSessionShape = 0.7;
constexpr double kKnownByHeart = 4;  ///< leases that the estimate weighs as much as
constexpr int kMostLapses = 3;
constexpr double kUnheard = 3600;  ///< s after which a host that has not learnt of its lease loses it
constexpr double kSpares = 0.1;    ///< of the members
constexpr double kLeastNotice = 120;
constexpr int kGoodRun = 5;  ///< jobs since its last failure, of a host that is thought to fail little more than others

/// For how long a host stays on.
struct Stay {
    double mean = 0;   ///< s
    double scale = 0;  ///< s, such that they are as long in the middle
    double age = -1;   ///< s for which this one has lasted; below 0: not known

    Stay(const GangHost& host, double now) {
        const double on = std::clamp(host.on_frac * host.active_frac, 0.001, 0.9999);
        mean = kTypicalOff * on / (1 - on);
        scale = mean / std::tgamma(1 + 1 / kSessionShape);
        // What a client says of its start has no bound: who is seldom on has not been on for long.
        if (host.on_since > 0) age = std::clamp(now - static_cast<double>(host.on_since), 0.0, mean);
    }
    /// Of ending within that time, as the integral of the rate.
    double hazard(double seconds) const {
        if (age < 0) return seconds / mean;
        return std::pow((age + seconds) / scale, kSessionShape) - std::pow(age / scale, kSessionShape);
    }
    double seconds_until(double hazard) const {
        if (age < 0 || hazard <= 0) return mean * hazard;
        return scale * std::pow(std::pow(age / scale, kSessionShape) + hazard, 1 / kSessionShape) - age;
    }
};
/// How often it came when it was to.
double came(const GangHost& host) { return (kKnownByHeart + host.kept) / (kKnownByHeart + host.kept + host.lapsed); }
/// s for which it stays on with that probability; below 0: it does not even come.
double longest_stay(const GangHost& host, double probability, double now) {
    return Stay(host, now).seconds_until(std::log(came(host) / probability));
}

std::string name_of(const GangId& id) { return fmt::format("{}.{}", id.batch, id.number); }

/// A request of this second has not seen what is decided now.
std::int64_t request_after(double now) { return static_cast<std::int64_t>(now) + 1; }
bool knows(const GangLease& l) { return l.heard >= static_cast<double>(l.since); }
bool is_there(const GangLease& l, double now) {
    return knows(l) && gang_is_due(l.start, now) && l.heard >= static_cast<double>(l.start) - kGangEarly;
}
/// It was heard of a moment ago, and is to come soon.
bool comes_soon(const GangLease& l, double now) {
    const double until = static_cast<double>(l.start) - now;
    return until >= 0 && until <= kGangStandBy && now - l.heard <= kGangStandBy + kGangLate;
}
bool can_be_given(const GangLease& l, double now) {
    return l.workunit == 0 && (is_there(l, now) || (knows(l) && comes_soon(l, now)));
}

/// One gang with its leases.
class OneGang {
  public:
    OneGang(const GangWork& gang, std::vector<GangLease> leases, GangPlan& plan, double now)
        : gang_(gang), leases_(std::move(leases)), missing_(gang.missing), plan_(plan), now_(now) {
        if (!leases_.empty()) first_start_ = leases_.front().start;
    }

    /// Members that are missing come first, of all gangs.
    void run(std::vector<GangHost>& hosts) {
        settle_given();
        if (!missing_.empty() && !give()) next_round();
        if (missing_.empty() && given_ == 0) stand_by();
        if (!missing_.empty()) offer(hosts);
        if (!missing_.empty())
            plan_.waits.push_back({gang_.id, static_cast<int>(missing_.size()), static_cast<int>(waiting())});
    }
    bool lacks_hosts() const { return leases_.size() < missing_.size(); }
    /// Then spares of those that are at work. Where another gang lacks hosts it may have them, one after the other:
    /// what it does not want either is free for this one again.
    void keep_spares(std::vector<GangHost>& hosts, bool others_lack_hosts) {
        if (missing_.empty() && given_ == 0 && others_lack_hosts)
            judge_leases([&](const GangLease& l) {
                const bool long_enough = now_ - static_cast<double>(l.since) > kGangRound;
                return Judged{l, long_enough ? "is free for another gang" : nullptr};
            });
        if (missing_.empty()) offer(hosts);
        plan_.keep.insert(plan_.keep.end(), leases_.begin(), leases_.end());
    }

  private:
    /// A lease as it is to be; with a reason, it ends.
    struct Judged {
        GangLease lease;
        const char* ends = nullptr;
    };
    template <typename Judge>
    void judge_leases(const Judge& judge) {
        std::vector<GangLease> kept;
        for (const GangLease& lease : leases_) {
            const Judged judged = judge(lease);
            if (judged.ends == nullptr) {
                kept.push_back(judged.lease);
                continue;
            }
            plan_.said.push_back(fmt::format("gang {}: host {} {}", name_of(gang_.id), lease.host, judged.ends));
            plan_.end.push_back(judged.lease);
        }
        leases_ = std::move(kept);
    }

    /// A host that has its job needs no lease any more. One that has not fetched it waits like the others.
    void settle_given() {
        judge_leases([&](const GangLease& l) {
            if (l.workunit == 0 || l.has_it) return Judged{l};
            const auto wanted = std::find(missing_.begin(), missing_.end(), l.workunit);
            const bool is_wanted = wanted != missing_.end();
            if (!is_wanted || now_ > fetched_by(l)) return not_fetched(l, is_wanted);
            missing_.erase(wanted);
            ++given_;
            return Judged{l};
        });
        judge_leases([&](const GangLease& l) {
            // The members may have been read before this host had its job: then it seems to be missing.
            if (l.has_it) std::erase(missing_, l.workunit);
            if (l.has_it) return Judged{l, "has its member"};
            return Judged{l, tried(l.host) ? "has or had a member of this gang" : nullptr};
        });
    }

    /// Now a spare gets the member.
    Judged not_fetched(GangLease l, bool is_wanted) const {
        l.workunit = 0;
        if (!is_wanted) return {l};
        const bool off_again = !knows(l) || l.heard < static_cast<double>(l.start) - kGangEarly;
        if (off_again) {
            l.start += static_cast<std::int64_t>(kGangRound);
            ++l.lapses;
            return {l};
        }
        l.blamed = l.unfit = true;
        return {l, "has come and was not sent its member: the scheduler's log and sched_explain say why"};
    }

    /// So long it has time to come for the member that it was given. A spare gets it later than the others.
    static double fetched_by(const GangLease& l) {
        const auto start = static_cast<double>(l.start), given = static_cast<double>(l.since);
        return std::max(start + kGangFetched, std::min(given + 2 * kGangPoll + 10, start + kGangTaken));
    }

    bool tried(Id host) const {
        return std::find(gang_.hosts_tried.begin(), gang_.hosts_tried.end(), host) != gang_.hosts_tried.end();
    }

    /// Are enough there? Then each member that is missing has a host, and the others stay in case one does not fetch
    /// it.
    bool give() {
        const auto there =
            std::count_if(leases_.begin(), leases_.end(), [&](const GangLease& l) { return can_be_given(l, now_); });
        if (static_cast<std::size_t>(there) < missing_.size()) return false;
        plan_.said.push_back(
            fmt::format("gang {}: {} hosts are there, {} members are sent", name_of(gang_.id), there, missing_.size()));
        for (GangLease& l : leases_) {
            if (missing_.empty()) break;
            if (!can_be_given(l, now_)) continue;
            l.workunit = missing_.back();
            l.since = request_after(now_);
            missing_.pop_back();
            ++given_;
        }
        return true;
    }

    /// Ten minutes later the next attempt.
    void next_round() {
        judge_leases([&](const GangLease& l) {
            if (l.workunit != 0 || now_ <= static_cast<double>(l.start) + kGangLate) return Judged{l};
            Judged judged = after_meeting(l);
            if (judged.ends == nullptr) judged.lease.start = meeting_from(now_ - kGangLate);
            return judged;
        });
    }

    /// The gang is at work. Spares come every two minutes, so that another host has a lost host's member before the
    /// others stop waiting.
    void stand_by() {
        std::stable_partition(leases_.begin(), leases_.end(), [&](const GangLease& l) { return stands_by(l); });
        std::size_t ready = 0;
        judge_leases([&](const GangLease& l) {
            if (l.workunit != 0) return Judged{l};
            if (ready >= spares()) return Judged{l, "is not needed any more"};
            if (stands_by(l)) ++ready;
            return after_stand_by(l);
        });
    }
    Judged after_stand_by(const GangLease& l) const {
        const bool late = now_ > static_cast<double>(l.start) + kGangLate;
        Judged judged = late ? after_meeting(l) : Judged{l};
        if (judged.ends != nullptr) {
            judged.lease.blamed = false;  // the planner asks spares to come so often that missing it is no fault
            return judged;
        }
        // A spare that is there asks again in a moment, and learns of the next time.
        if (is_there(l, now_)) judged.lease.lapses = 0;
        if (late || is_there(l, now_)) judged.lease.start = static_cast<std::int64_t>(now_ + kGangStandBy);
        return judged;
    }
    /// A spare that was heard of when it last was to come.
    bool stands_by(const GangLease& l) const { return l.workunit == 0 && (is_there(l, now_) || comes_soon(l, now_)); }
    std::size_t spares() const { return static_cast<std::size_t>(std::ceil(kSpares * gang_.size)); }

    /// After the time at which the host was to come.
    Judged after_meeting(GangLease l) const {
        const bool came = knows(l) && l.heard >= static_cast<double>(l.start) - kGangEarly;
        if (knows(l) && !came) ++l.lapses;
        l.blamed = l.lapses >= kMostLapses;
        if (l.blamed) return {l, "is not waited for any more: it did not come three times"};
        const bool unheard = !knows(l) && now_ - static_cast<double>(l.since) > kUnheard;
        return {l, unheard ? "is not waited for any more: it was not heard of" : nullptr};
    }

    /// When those of this gang meet, not before `least`. Hosts that are asked later come at the times of the first
    /// ones, or they would never be there together.
    std::int64_t meeting_from(double least) const {
        const auto first = static_cast<double>(first_start_);
        return first_start_ +
               static_cast<std::int64_t>(std::max(0.0, std::ceil((least - first) / kGangRound)) * kGangRound);
    }
    std::int64_t next_meeting() const {
        if (first_start_ == 0) return static_cast<std::int64_t>(now_ + kGangRound);
        return meeting_from(now_ + kLeastNotice);
    }

    /// Hosts that are to come for a member, and have none yet.
    std::size_t waiting() const {
        return static_cast<std::size_t>(
            std::count_if(leases_.begin(), leases_.end(), [](const GangLease& l) { return l.workunit == 0; }));
    }

    void offer(std::vector<GangHost>& hosts) {
        const std::size_t wanted = missing_.size() + spares();
        const std::size_t waiting = this->waiting();
        const auto sure =
            static_cast<std::size_t>(std::count_if(leases_.begin(), leases_.end(), [&](const GangLease& l) {
                return l.workunit == 0 && (knows(l) || comes_soon(l, now_));
            }));
        if (sure >= wanted) return;
        const std::int64_t start = next_meeting();
        // One that has not heard of it may not do so for long: twice as many are asked as are wanted.
        std::size_t asked = 0;
        const double notice = static_cast<double>(start) - now_;
        const std::size_t most = 2 * wanted - std::min(waiting, 2 * wanted);
        const std::size_t least = std::min(wanted > waiting ? wanted - waiting : 1, most);
        const Pace pace = choose_pace(hosts, notice, most, least);
        const auto stay = [&](const GangHost& h) { return stay_on(h, notice + gang_.fpops / pace.speed, now_); };
        std::stable_sort(hosts.begin(), hosts.end(),
                         [&](const GangHost& a, const GangHost& b) { return stay(a) > stay(b); });
        std::erase_if(hosts, [&](const GangHost& h) {
            if (asked >= most || unusable(h) || speed_of(h) < pace.speed || speed_of(h) > pace.fastest ||
                stay(h) < least_stay_on(gang_.size))
                return false;
            GangLease l;
            l.host = h.id;
            l.gang = gang_.id;
            l.start = start;
            l.since = request_after(now_);
            l.heard = h.heard;
            l.p_fpops = h.p_fpops;
            leases_.push_back(l);
            ++asked;
            return true;
        });
        const auto there = waiting + asked;
        if (asked > 0)
            plan_.said.push_back(fmt::format("gang {}: {} more hosts are to come in {:.0f} s", name_of(gang_.id), asked,
                                             static_cast<double>(start) - now_));
        if (there < wanted && !missing_.empty())
            plan_.said.push_back(fmt::format(
                "gang {}: waits for hosts{} that stay on with a probability of {:.2f}: {} of {} that are wanted",
                name_of(gang_.id), gang_.platforms == 0 ? " (its app has no version)" : " of its app's platforms",
                least_stay_on(gang_.size), there, wanted));
    }

    static double speed_of(const GangHost& h) { return std::max(h.p_fpops, 1e6); }
    bool unusable(const GangHost& h) const {
        return tried(h.id) || (h.platforms & gang_.platforms) == 0 || (h.good_run < kGoodRun && !failing_too_);
    }

    /// Members wait for each other: all get on as fast as the slowest.
    struct Pace {
        double speed = 1e6, fastest = std::numeric_limits<double>::infinity();  ///< flops/s of hosts that are asked
    };
    struct Usable {
        double speed = 0;
        double slowest = 0;  ///< it stays on long enough if the gang is no slower than that
    };

    /// The fastest first; without those that don't stay on long enough at any pace.
    std::vector<Usable> usable(const std::vector<GangHost>& hosts, double notice) const {
        std::vector<Usable> all;
        for (const GangHost& h : hosts) {
            if (unusable(h)) continue;
            const double time = longest_stay(h, least_stay_on(gang_.size), now_) - notice;
            if (time > 0 && gang_.fpops / time <= speed_of(h)) all.push_back({speed_of(h), gang_.fpops / time});
        }
        std::sort(all.begin(), all.end(), [](const Usable& a, const Usable& b) { return a.speed > b.speed; });
        return all;
    }

    Pace choose_pace(const std::vector<GangHost>& hosts, double notice, std::size_t most, std::size_t least) {
        failing_too_ = false;
        std::vector<Usable> all = usable(hosts, notice);
        // A failure stops all others. But who has failed may be the only one that there is.
        failing_too_ = all.size() < least;
        if (failing_too_) all = usable(hosts, notice);
        const auto as_fast = std::count_if(all.begin(), all.end(), [&](const Usable& h) {
            return h.speed >= gang_.slowest && h.slowest <= gang_.slowest;
        });
        if (gang_.slowest > 0 && static_cast<std::size_t>(as_fast) >= least) return Pace{.speed = gang_.slowest};
        return pace_of(all, most, least);
    }

    /// The fastest pace at which so many hosts stay on, not faster than those that are asked already. Best if none is
    /// more than twice as fast. A fast host loses its time at a slow one's pace, and its instance has a deadline of its
    /// own.
    Pace pace_of(const std::vector<Usable>& hosts, std::size_t most, std::size_t least) const {
        double cap = std::numeric_limits<double>::infinity();
        for (const GangLease& l : leases_)
            if (l.p_fpops > 0) cap = std::min(cap, l.p_fpops);
        Pace best;
        std::size_t best_count = 0;
        for (const double spread : {2.0, 4.0, std::numeric_limits<double>::infinity()})
            for (const std::size_t need : {most, least})
                for (std::size_t i = 0; i < hosts.size(); ++i) {
                    const Pace pace{std::min(hosts[i].speed, cap), spread * std::min(hosts[i].speed, cap)};
                    std::size_t count = 0;
                    for (std::size_t j = i + 1; j-- > 0 && hosts[j].speed <= pace.fastest;)
                        count += hosts[j].slowest <= pace.speed;
                    if (count >= need) return pace;
                    if (count > best_count) best = pace, best_count = count;
                }
        return best;
    }

    const GangWork& gang_;
    std::vector<GangLease> leases_;
    std::vector<Id> missing_;
    GangPlan& plan_;
    double now_;
    int given_ = 0;
    bool failing_too_ = false;      ///< hosts that failed lately are asked, too
    std::int64_t first_start_ = 0;  ///< of any lease of this gang; 0: there is none
};

}  // namespace

double stay_on(const GangHost& host, double seconds, double now) {
    return std::exp(-Stay(host, now).hazard(std::max(seconds, 0.0))) * came(host);
}

double least_stay_on(int size) { return 1 - std::min(0.5, 1.5 / std::max(size, 1)); }

GangPlan plan_gangs(const GangFactsNow& facts, double now) {
    GangPlan plan;
    std::vector<GangHost> hosts = facts.hosts;
    std::vector<GangLease> left = facts.leases;
    std::deque<OneGang> gangs;
    for (const GangWork& gang : facts.gangs) {
        const auto is_others = [&](const GangLease& l) { return l.gang != gang.id; };
        const auto mine = std::stable_partition(left.begin(), left.end(), is_others);
        gangs.emplace_back(gang, std::vector<GangLease>(mine, left.end()), plan, now).run(hosts);
        left.erase(mine, left.end());
    }
    const bool lack = std::any_of(gangs.begin(), gangs.end(), [](const OneGang& g) { return g.lacks_hosts(); });
    for (OneGang& gang : gangs) gang.keep_spares(hosts, lack);
    for (const GangLease& l : left) plan.end.push_back(l);  // their gang has ended, or was aborted
    return plan;
}

}  // namespace sluice
