// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/batch_stats/plan.h"

#include <algorithm>
#include <cmath>

namespace sluice {
namespace {

std::pair<Id, Id> key(const VersionTurnaround& v) { return {v.host_id, v.version}; }

bool differs(const VersionTurnaround& a, const VersionTurnaround& b) {
    return a.ltt != b.ltt || a.jobs != b.jobs || std::abs(a.ratio - b.ratio) > 0.05 * std::max(a.ratio, b.ratio);
}

}  // namespace

StatsWrite plan_stats(const StatsFacts& facts) {
    StatsWrite write;
    for (const auto& [batch, measure] : facts.batches) {
        const double value = measure.median.value_or(0);
        if (value == batch.expire_time) continue;
        if (value == 0 && batch.expire_time >= kExpireDate) continue;  // nothing to say, so the date may stay
        write.medians.emplace_back(batch.id, value);
    }
    for (const Id host : facts.ltt_hosts) {
        const auto it = facts.flagged.find(host);
        if (it == facts.flagged.end() || it->second != 1) write.hosts.emplace_back(host, true);
    }
    for (const auto& [host, flag] : facts.flagged)
        if (!std::binary_search(facts.ltt_hosts.begin(), facts.ltt_hosts.end(), host))
            write.hosts.emplace_back(host, false);
    for (const App& app : facts.apps) {
        if (app.n_size_classes > 1) continue;  // size classes: not ours to change
        const auto it =
            std::find_if(facts.verdicts.begin(), facts.verdicts.end(), [&](const auto& v) { return v.app == app.id; });
        const bool accelerable = it != facts.verdicts.end() && it->accelerable;
        if (app.n_size_classes != (accelerable ? 1 : 0)) write.accelerable.emplace_back(app.id, accelerable);
    }
    return write;
}

VersionChanges plan_versions(const std::vector<VersionTurnaround>& before, const std::vector<VersionTurnaround>& now) {
    VersionChanges changes;
    auto old = before.begin();
    for (const VersionTurnaround& v : now) {
        for (; old != before.end() && key(*old) < key(v); ++old) changes.gone.push_back(key(*old));
        if (old != before.end() && key(*old) == key(v)) {
            if (differs(*old, v)) changes.rows.push_back(v);
            ++old;
        } else {
            changes.rows.push_back(v);
        }
    }
    for (; old != before.end(); ++old) changes.gone.push_back(key(*old));
    return changes;
}

}  // namespace sluice
