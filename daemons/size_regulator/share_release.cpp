// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/size_regulator/share_release.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>
#include <tuple>

namespace sluice {
namespace {

constexpr double kLast = std::numeric_limits<double>::infinity();

struct WaitingQueue {
    ClassQueue queue;
    ReleasePlace place;
    double step = 0;  ///< project-seconds of LET from a job to the next
    std::int64_t given = 0;

    std::int64_t unsent() const { return queue.unsent + given; }
    bool has_more() const { return given < queue.inactive; }
    using Key = std::tuple<bool, double, std::int64_t, Id>;
    /// The least goes first. Among equals the one with fewer UNSENT jobs: they alternate.
    Key key() const {
        return {!place.planned, place.share.end + step * static_cast<double>(unsent()), unsent(), queue.batch};
    }
};

/// Sum of the quotas of all who have a batch.
double sum_of_quotas(const ReleasePlaces& places) {
    std::map<Id, double> quotas;
    for (const auto& [batch, place] : places) quotas[place.share.user_id] = place.share.quota;
    double sum = 0;
    for (const auto& [user, quota] : quotas) sum += quota;
    return sum;
}

/// One class.
class ClassRelease {
  public:
    ClassRelease(int size_class, const std::vector<ClassQueue>& queues, const ReleasePlaces& places) {
        const double quotas = sum_of_quotas(places);
        double least = kLast;
        for (const ClassQueue& queue : queues) {
            if (queue.size_class != size_class) continue;
            WaitingQueue& w = all_.emplace_back(WaitingQueue{queue, {}});
            const auto place = places.find(queue.batch);
            w.place = place == places.end() ? ReleasePlace{{0, -kLast, 0}} : place->second;
            if (w.place.share.quota > 0) w.step = w.place.head * quotas / w.place.share.quota;
            if (place != places.end() && queue.inactive > 0) least = std::min(least, w.place.share.end);
        }
        for (WaitingQueue& w : all_)
            if (w.place.share.end == -kLast) w.place.share.end = least;
    }

    void give_first(std::int64_t n) {
        using Turn = std::pair<WaitingQueue::Key, std::size_t>;
        std::priority_queue<Turn, std::vector<Turn>, std::greater<>> turns;
        for (std::size_t i = 0; i < all_.size(); ++i)
            if (all_[i].has_more()) turns.emplace(all_[i].key(), i);
        while (n > 0 && !turns.empty()) {
            WaitingQueue& w = all_[turns.top().second];
            const std::size_t i = turns.top().second;
            turns.pop();
            ++w.given, --n;
            if (w.has_more()) turns.emplace(w.key(), i);
        }
    }

    /// To users by quota who have the fewest jobs here; of each the batch that is first.
    void give_by_quota(std::int64_t n) {
        for (; n > 0; --n) {
            std::map<Id, std::int64_t> held;
            for (const WaitingQueue& w : all_) held[w.place.share.user_id] += w.unsent();
            WaitingQueue* next = nullptr;
            const auto turn = [&](const WaitingQueue& w) {
                const double part = static_cast<double>(held[w.place.share.user_id]) / w.place.share.quota;
                return std::pair(part, w.key());
            };
            for (WaitingQueue& w : all_)
                if (w.has_more() && w.place.share.quota > 0 && (next == nullptr || turn(w) < turn(*next))) next = &w;
            if (next == nullptr) return;
            ++next->given;
        }
    }

    /// Jobs of the batch that is first, if it has none to send and a later one has.
    std::int64_t overtaking() const {
        const WaitingQueue* first = nullptr;
        for (const WaitingQueue& w : all_)
            if (w.has_more() && (first == nullptr || w.key() < first->key())) first = &w;
        if (first == nullptr || first->unsent() > 0) return 0;
        const bool before =
            std::ranges::any_of(all_, [&](const WaitingQueue& w) { return w.unsent() > 0 && first->key() < w.key(); });
        return before ? first->queue.inactive : 0;
    }
    std::int64_t unsent() const {
        std::int64_t sum = 0;
        for (const WaitingQueue& w : all_) sum += w.unsent();
        return sum;
    }

    std::int64_t given() const {
        std::int64_t sum = 0;
        for (const WaitingQueue& w : all_) sum += w.given;
        return sum;
    }
    const std::vector<WaitingQueue>& all() const { return all_; }

  private:
    std::vector<WaitingQueue> all_;
};

}  // namespace

std::vector<Release> wanted_by_shares(int classes, const WaterMarks& marks, const std::vector<ClassQueue>& queues,
                                      const ReleasePlaces& places) {
    std::vector<Release> wanted;
    for (int c = 0; c < classes; ++c) {
        const ClassRelease release(c, queues, places);
        const std::int64_t room = marks.high - release.unsent();
        const std::int64_t n = release.unsent() < marks.low ? room : std::min(room, release.overtaking());
        if (n > 0) wanted.push_back({c, n});
    }
    return wanted;
}

std::vector<QueueRelease> plan_by_shares(const std::vector<Release>& wanted, const std::vector<ClassQueue>& queues,
                                         const ReleaseRules& rules, std::map<int, double>& reserve) {
    std::vector<QueueRelease> plan;
    for (const Release& r : wanted) {
        ClassRelease release(r.size_class, queues, rules.places);
        double& due = reserve[r.size_class];
        due += rules.share_floor * static_cast<double>(r.wanted);
        const auto reserved = std::min(r.wanted, static_cast<std::int64_t>(due));
        due -= std::floor(due);
        release.give_by_quota(reserved);
        release.give_first(r.wanted - release.given());
        for (const auto& w : release.all())
            if (w.given > 0) plan.push_back({r.size_class, w.queue.batch, w.given});
    }
    return plan;
}

}  // namespace sluice
