#include "daemons/gang_planner/plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "sluice/model/gang_times.h"

namespace sluice {
namespace {

constexpr double kTypicalOff = 12 * 3600;  ///< s that a host is off in the middle
constexpr double kKnownByHeart = 4;        ///< leases that the estimate weighs as much as
constexpr int kMostLapses = 3;
constexpr double kUnheard = 3600;  ///< s after which a host that has not learnt of its lease loses it
constexpr double kSpares = 0.1;    ///< of the members
constexpr double kLeastNotice = 120;

std::string name_of(const GangId& id) { return fmt::format("{}.{}", id.batch, id.number); }

bool knows(const GangLease& l) { return l.heard >= static_cast<double>(l.since); }
bool is_there(const GangLease& l, double now) {
    return knows(l) && gang_is_due(l.start, now) && l.heard >= static_cast<double>(l.start) - kGangEarly;
}

/// One gang with its leases.
class OneGang {
  public:
    OneGang(const GangWork& gang, std::vector<GangLease> leases, GangPlan& plan, double now)
        : gang_(gang), leases_(std::move(leases)), missing_(gang.missing), plan_(plan), now_(now) {}

    void run(std::vector<GangHost>& hosts) {
        settle_given();
        if (missing_.empty() && given_ == 0) {
            for (GangLease& l : leases_) plan_.end.push_back(l);  // nobody's fault
            return;
        }
        if (!missing_.empty()) {
            if (!give()) next_round();
            offer(hosts);
        }
        plan_.keep.insert(plan_.keep.end(), leases_.begin(), leases_.end());
    }

  private:
    /// Who has its job needs no lease any more; who has not fetched it waits like the others.
    void settle_given() {
        std::erase_if(leases_, [&](GangLease& l) {
            if (l.workunit == 0) return false;
            if (l.has_it) {
                plan_.said.push_back(fmt::format("gang {}: host {} has its member", name_of(gang_.id), l.host));
                plan_.end.push_back(l);
                return true;
            }
            const auto wanted = std::find(missing_.begin(), missing_.end(), l.workunit);
            if (wanted != missing_.end() && now_ <= static_cast<double>(l.start) + kGangFetched) {
                missing_.erase(wanted);
                ++given_;
                return false;
            }
            // Now a spare gets it; this one is off again, or can't run it.
            l.workunit = 0;
            l.start += static_cast<std::int64_t>(kGangRound);
            ++l.lapses;
            return false;
        });
    }

    bool tried(Id host) const {
        return std::find(gang_.hosts_tried.begin(), gang_.hosts_tried.end(), host) != gang_.hosts_tried.end();
    }

    /// Are enough there? Then each member that is missing has a host, and the others stay in case one does not fetch
    /// it.
    bool give() {
        const auto there = std::count_if(leases_.begin(), leases_.end(),
                                         [&](const GangLease& l) { return l.workunit == 0 && is_there(l, now_); });
        if (static_cast<std::size_t>(there) < missing_.size()) return false;
        plan_.said.push_back(
            fmt::format("gang {}: {} hosts are there, {} members are sent", name_of(gang_.id), there, missing_.size()));
        for (GangLease& l : leases_) {
            if (missing_.empty()) break;
            if (l.workunit != 0 || !is_there(l, now_)) continue;
            l.workunit = missing_.back();
            missing_.pop_back();
            ++given_;
        }
        return true;
    }

    /// Ten minutes later the next attempt.
    void next_round() {
        std::erase_if(leases_, [&](GangLease& l) {
            if (l.workunit != 0 || now_ <= static_cast<double>(l.start) + kGangLate) return false;
            const bool came = knows(l) && l.heard >= static_cast<double>(l.start) - kGangEarly;
            if (knows(l) && !came) ++l.lapses;
            l.blamed = l.lapses >= kMostLapses;
            if (l.blamed || (!knows(l) && now_ - static_cast<double>(l.since) > kUnheard)) {
                plan_.said.push_back(fmt::format("gang {}: host {} is not waited for any more: {}", name_of(gang_.id),
                                                 l.host,
                                                 l.blamed ? "it did not come three times" : "it was not heard of"));
                plan_.end.push_back(l);
                return true;
            }
            l.start += static_cast<std::int64_t>(
                std::ceil((now_ - kGangLate - static_cast<double>(l.start)) / kGangRound) * kGangRound);
            return false;
        });
    }

    /// The time at which those without a job meet next.
    std::int64_t meeting() const {
        for (const GangLease& l : leases_)
            if (l.workunit == 0 && static_cast<double>(l.start) - now_ > kLeastNotice) return l.start;
        return static_cast<std::int64_t>(now_ + kGangRound);
    }

    void offer(std::vector<GangHost>& hosts) {
        const auto wanted = missing_.size() + static_cast<std::size_t>(std::ceil(kSpares * gang_.size));
        const auto waiting = static_cast<std::size_t>(
            std::count_if(leases_.begin(), leases_.end(), [](const GangLease& l) { return l.workunit == 0; }));
        const auto know = static_cast<std::size_t>(std::count_if(
            leases_.begin(), leases_.end(), [](const GangLease& l) { return l.workunit == 0 && knows(l); }));
        if (know >= wanted) return;
        const std::int64_t start = meeting();
        // One that has not heard of it may not do so for long: twice as many are asked as are wanted.
        std::size_t asked = 0;
        const auto stay = [&](const GangHost& h) {
            return stay_on(h, static_cast<double>(start) - now_ + gang_.fpops / std::max(h.p_fpops, 1e6));
        };
        std::stable_sort(hosts.begin(), hosts.end(),
                         [&](const GangHost& a, const GangHost& b) { return stay(a) > stay(b); });
        std::erase_if(hosts, [&](const GangHost& h) {
            if (waiting + asked >= 2 * wanted || tried(h.id) || stay(h) < least_stay_on(gang_.size)) return false;
            GangLease l;
            l.host = h.id;
            l.gang = gang_.id;
            l.start = start;
            l.since = static_cast<std::int64_t>(now_) + 1;  // a request of this second has not seen it
            l.heard = h.heard;
            leases_.push_back(l);
            ++asked;
            return true;
        });
        const auto there = waiting + asked;
        if (asked > 0)
            plan_.said.push_back(fmt::format("gang {}: {} more hosts are to come in {:.0f} s", name_of(gang_.id), asked,
                                             static_cast<double>(start) - now_));
        if (there < wanted)
            plan_.said.push_back(fmt::format(
                "gang {}: waits for hosts that stay on with a probability of {:.2f}: {} of {} that are wanted",
                name_of(gang_.id), least_stay_on(gang_.size), there, wanted));
    }

    const GangWork& gang_;
    std::vector<GangLease> leases_;
    std::vector<Id> missing_;
    GangPlan& plan_;
    double now_;
    int given_ = 0;
};

}  // namespace

double stay_on(const GangHost& host, double seconds) {
    const double on = std::clamp(host.on_frac * host.active_frac, 0.001, 0.9999);
    const double session = kTypicalOff * on / (1 - on);
    const double came = (kKnownByHeart + host.kept) / (kKnownByHeart + host.kept + host.lapsed);
    return std::exp(-std::max(seconds, 0.0) / session) * came;
}

double least_stay_on(int size) { return 1 - std::min(0.5, 1.5 / std::max(size, 1)); }

GangPlan plan_gangs(const GangFactsNow& facts, double now) {
    GangPlan plan;
    std::vector<GangHost> hosts = facts.hosts;
    std::vector<GangLease> left = facts.leases;
    for (const GangWork& gang : facts.gangs) {
        std::vector<GangLease> mine;
        std::erase_if(left, [&](const GangLease& l) {
            if (l.gang != gang.id) return false;
            mine.push_back(l);
            return true;
        });
        OneGang(gang, std::move(mine), plan, now).run(hosts);
    }
    for (const GangLease& l : left) plan.end.push_back(l);  // their gang has ended, or was aborted
    return plan;
}

}  // namespace sluice
