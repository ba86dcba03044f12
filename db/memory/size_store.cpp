// SPDX-License-Identifier: LGPL-3.0-or-later
#include "db/memory/size_store.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "sluice/model/anonymous_version.h"

namespace sluice {
namespace {

constexpr std::size_t kHostsCounted = 100000;

}  // namespace

std::optional<App> MemorySizeRegulatorStore::app(const std::string& name) {
    db_.enter("size_regulator.app");
    for (const auto& [id, app] : db_.apps.rows())
        if (app.name == name) return app;
    return std::nullopt;
}

std::map<int, std::int64_t> MemorySizeRegulatorStore::unsent_now(Id appid) const {
    std::map<int, std::int64_t> by_class;
    const auto& index = db_.results.index().unsent_of_app;
    if (const auto mine = index.find(appid); mine != index.end())
        for (const Id id : mine->second) ++by_class[db_.results.get(id)->size_class];
    return by_class;
}

std::map<int, std::int64_t> MemorySizeRegulatorStore::unsent(Id appid) {
    db_.enter("size_regulator.unsent");
    return unsent_now(appid);
}

std::vector<Id> MemorySizeRegulatorStore::waiting(Id appid, int size_class, ReleaseOrder order) const {
    const auto& index = db_.results.index().inactive_of_app;
    const auto mine = index.find({appid, size_class});
    if (mine == index.end()) return {};
    std::vector<Id> ids(mine->second.begin(), mine->second.end());
    if (order == ReleaseOrder::kNone) return ids;
    std::stable_sort(ids.begin(), ids.end(), [&](Id a, Id b) {
        const Result &x = *db_.results.get(a), &y = *db_.results.get(b);
        switch (order) {
            case ReleaseOrder::kRandom: return x.random < y.random;
            case ReleaseOrder::kPriorityAscending: return x.priority < y.priority;
            case ReleaseOrder::kPriorityDescending: return x.priority > y.priority;
            default: return std::tuple(-x.priority, x.workunitid) < std::tuple(-y.priority, y.workunitid);
        }
    });
    return ids;
}

std::vector<std::int64_t> MemorySizeRegulatorStore::release(Id appid, ReleaseOrder order, const Decide& decide) {
    db_.enter("size_regulator.release");
    std::vector<std::int64_t> released;
    for (const auto& [size_class, wanted] : decide(unsent_now(appid))) {
        std::vector<Id> ids = waiting(appid, size_class, order);
        if (static_cast<std::int64_t>(ids.size()) > wanted)
            ids.resize(static_cast<std::size_t>(std::max<std::int64_t>(wanted, 0)));
        for (const Id id : ids) db_.results.change(id, [](Result& r) { r.server_state = ServerState::kUnsent; });
        released.push_back(static_cast<std::int64_t>(ids.size()));
    }
    return released;
}

ReleasePlaces MemorySizeRegulatorStore::places(double now) {
    db_.enter("size_regulator.places");
    ReleasePlaces places;
    const BatchPlan* plan = db_.plans.get(1);
    for (const auto& [batch, share] : db_.batch_shares) {
        const auto head = db_.stream_heads.find(batch);
        places[batch] = {share, head == db_.stream_heads.end() ? 0 : head->second,
                         plan != nullptr && plan->binding(batch, now) != nullptr};
    }
    return places;
}

std::map<int, std::int64_t> MemorySizeRegulatorStore::release_queues(Id appid, std::int64_t /*most*/,
                                                                     const DecideQueues& decide) {
    db_.enter("size_regulator.release_queues");
    std::map<std::pair<int, Id>, ClassQueue> queues;
    std::map<std::pair<int, Id>, std::vector<Id>> inactive;
    const auto queue_of = [&](const Result& r) -> ClassQueue& {
        ClassQueue& queue = queues[{r.size_class, r.batch}];
        queue.size_class = r.size_class, queue.batch = r.batch;
        return queue;
    };
    const ResultIndex& index = db_.results.index();
    if (const auto mine = index.unsent_of_app.find(appid); mine != index.unsent_of_app.end())
        for (const Id id : mine->second) ++queue_of(*db_.results.get(id)).unsent;
    for (auto mine = index.inactive_of_app.lower_bound({appid, std::numeric_limits<int>::min()});
         mine != index.inactive_of_app.end() && mine->first.first == appid; ++mine)
        for (const Id id : mine->second) {
            const Result& r = *db_.results.get(id);
            ++queue_of(r).inactive;
            inactive[{r.size_class, r.batch}].push_back(id);
        }
    std::vector<ClassQueue> all;
    for (const auto& [key, queue] : queues) all.push_back(queue);
    std::map<int, std::int64_t> released;
    for (const QueueRelease& release : decide(all)) {
        std::vector<Id>& ids = inactive[{release.size_class, release.batch}];
        std::sort(ids.begin(), ids.end());
        if (static_cast<std::int64_t>(ids.size()) > release.wanted)
            ids.resize(static_cast<std::size_t>(std::max<std::int64_t>(release.wanted, 0)));
        for (const Id id : ids) db_.results.change(id, [](Result& r) { r.server_state = ServerState::kUnsent; });
        released[release.size_class] += static_cast<std::int64_t>(ids.size());
    }
    return released;
}

std::vector<Id> MemorySizeRegulatorStore::orphaned(Id appid, int classes, bool unsent_too) const {
    std::vector<Id> ids;
    const ResultIndex& index = db_.results.index();
    for (const auto& [key, inactive] : index.inactive_of_app)
        if (key.first == appid && (key.second >= classes || key.second < 0))
            ids.insert(ids.end(), inactive.begin(), inactive.end());
    if (const auto mine = index.unsent_of_app.find(appid); unsent_too && mine != index.unsent_of_app.end())
        for (const Id id : mine->second)
            if (db_.results.get(id)->size_class >= classes) ids.push_back(id);
    std::sort(ids.begin(), ids.end());
    return ids;
}

std::map<int, std::int64_t> MemorySizeRegulatorStore::orphans(Id appid, int classes) {
    db_.enter("size_regulator.orphans");
    std::map<int, std::int64_t> by_class;
    for (const Id id : orphaned(appid, classes, true)) ++by_class[db_.results.get(id)->size_class];
    return by_class;
}

std::int64_t MemorySizeRegulatorStore::reclassify(Id appid, int classes, int new_class, int limit) {
    db_.enter("size_regulator.reclassify");
    std::int64_t moved = 0;
    for (const Id id : orphaned(appid, classes, true)) {
        if (moved >= limit) break;
        const Id workunit = db_.results.get(id)->workunitid;
        db_.results.change(id, [&](Result& r) {
            r.size_class = new_class;
            if (new_class < 0) r.server_state = ServerState::kUnsent;
        });
        db_.workunits.change(workunit, [&](Workunit& w) { w.size_class = new_class; });
        ++moved;
    }
    return moved;
}

std::vector<App> MemorySizeCensusStore::apps(bool all) {
    db_.enter("size_census.apps");
    std::vector<App> found;
    for (const auto& [id, app] : db_.apps.rows())
        if (!app.deprecated && (all || app.size_classes() > 0)) found.push_back(app);
    return found;
}

void MemorySizeCensusStore::speeds(Id appid, double min_expavg_credit, bool anonymous,
                                   const std::function<void(const SpeedRecord&)>& row) {
    db_.enter("size_census.speeds");
    std::vector<std::pair<double, Id>> hosts;
    for (const auto& [id, h] : db_.hosts.rows())
        if (min_expavg_credit < 0 || h.expavg_credit > min_expavg_credit) hosts.emplace_back(-h.expavg_credit, id);
    std::sort(hosts.begin(), hosts.end());
    hosts.resize(std::min(hosts.size(), kHostsCounted));
    const auto& rows = db_.host_app_versions.rows();
    for (const auto& [credit, hostid] : hosts) {
        const Host& h = *db_.hosts.get(hostid);
        for (auto at = rows.lower_bound({hostid, 0}); at != rows.end() && at->first.first == hostid; ++at) {
            const HostAppVersion& v = at->second;
            if (v.et.n <= 0 || v.et.avg <= 0) continue;
            SpeedRecord record{v.et.avg, h.on_frac, h.active_frac, h.gpu_active_frac, "", -1};
            if (const AppVersion* version = db_.versions.get(v.app_version_id); version != nullptr) {
                if (version->appid != appid) continue;
                record.plan_class = version->plan_class;
            } else {
                const auto own = anonymous_version(v.app_version_id);
                if (!anonymous || !own || own->appid != appid) continue;
                record.anonymous_type = static_cast<int>(own->type);
            }
            row(record);
        }
    }
}

}  // namespace sluice
