// SPDX-License-Identifier: LGPL-3.0-or-later
#include "db/memory/validate_store.h"

#include <algorithm>

#include "db/store_rules.h"
#include "sluice/model/average.h"

namespace sluice {
namespace {

bool matches(const WorkunitFilter& f, Id id) {
    return (f.share.n <= 0 || id % f.share.n == f.share.i) && (f.wu_id == 0 || id == f.wu_id) &&
           (f.min_wu_id == 0 || id >= f.min_wu_id) && (f.max_wu_id == 0 || id <= f.max_wu_id);
}

template <typename Row>
void add_account_credit(Row& row, const ValidationWrite::HostRow& h, double now) {
    row.total_credit += h.credit;
    add_credit(now, h.started, h.credit, row.expavg_credit, row.expavg_time);
}

}  // namespace

std::optional<App> MemoryValidateStore::app_by_name(const std::string& name) {
    db_.enter("validate.app_by_name");
    for (const auto& [id, app] : db_.apps.rows())
        if (app.name == name) return app;
    return std::nullopt;
}

std::vector<WorkunitWithResults> MemoryValidateStore::page(const WorkunitFilter& filter, Id after, int limit) {
    db_.enter("validate.page");
    std::vector<WorkunitWithResults> page;
    const auto& asking = db_.workunits.index().to_validate;
    const auto mine = asking.find(filter.appid);
    if (mine == asking.end()) return page;
    for (auto id = mine->second.upper_bound(after); id != mine->second.end(); ++id) {
        if (static_cast<int>(page.size()) >= limit) break;
        if (!matches(filter, *id)) continue;
        WorkunitWithResults& job = page.emplace_back();
        job.wu = *db_.workunits.get(*id);
        for (const Id r : db_.results.index().instances(*id)) job.results.push_back(*db_.results.get(r));
    }
    return page;
}

std::map<std::pair<Id, Id>, HostAppVersion> MemoryValidateStore::host_app_versions(
    std::span<const std::pair<Id, Id>> keys) {
    db_.enter("validate.host_app_versions");
    std::map<std::pair<Id, Id>, HostAppVersion> found;
    for (const auto& key : keys)
        if (const HostAppVersion* row = db_.host_app_versions.get(key)) found[key] = *row;
    return found;
}

std::map<Id, AppVersion> MemoryValidateStore::versions(Id appid) {
    db_.enter("validate.versions");
    std::map<Id, AppVersion> found;
    for (const auto& [id, version] : db_.versions.rows())
        if (version.appid == appid) found[id] = version;
    return found;
}

Validated MemoryValidateStore::look(const WorkunitWithResults& read) const {
    const Workunit* wu = db_.workunits.get(read.wu.id);
    if (wu == nullptr || !wu->need_validate) return Validated::kGone;
    const auto& instances = db_.results.index().instances(read.wu.id);
    bool same = wu->canonical_resultid == read.wu.canonical_resultid && wu->error_mask == read.wu.error_mask &&
                wu->assimilate_state == read.wu.assimilate_state && wu->min_quorum == read.wu.min_quorum &&
                wu->target_nresults == read.wu.target_nresults &&
                wu->max_success_results == read.wu.max_success_results && instances.size() == read.results.size();
    for (std::size_t i = 0; same && i < instances.size(); ++i) {
        const Result &r = *db_.results.get(instances[i]), &was = read.results[i];
        same = r.id == was.id && r.server_state == was.server_state && r.outcome == was.outcome &&
               r.validate_state == was.validate_state;
    }
    return same ? Validated::kWritten : Validated::kChanged;
}

bool MemoryValidateStore::is_as_decided(const ValidationWrite& w) const {
    return std::ranges::all_of(w.results, [this](const auto& r) {
        const Result* there = db_.results.get(r.id);
        return there != nullptr && there->server_state == r.was_server_state &&
               there->validate_state == r.was_validate_state;
    });
}

std::vector<Validated> MemoryValidateStore::apply(std::span<const ValidationStep> steps, double now) {
    db_.enter("validate.apply");
    std::vector<Validated> outcomes;
    for (const ValidationStep& step : steps) outcomes.push_back(look(*step.read));
    for (std::size_t i = 0; i < steps.size(); ++i)
        if (outcomes[i] == Validated::kWritten && !is_as_decided(*steps[i].write))
            return std::vector(steps.size(), Validated::kChanged);
    for (std::size_t i = 0; i < steps.size(); ++i)
        if (outcomes[i] == Validated::kWritten) write(steps[i], now);
    return outcomes;
}

void MemoryValidateStore::write(const ValidationStep& step, double now) {
    const ValidationWrite& w = *step.write;
    write_workunit(step.read->wu, w, now);
    for (const auto& r : w.results)
        db_.results.change(r.id, [&](Result& row) {
            row.server_state = r.server_state;
            row.outcome = r.outcome;
            row.validate_state = r.validate_state;
            row.granted_credit = r.granted_credit;
            row.runtime_outlier = r.runtime_outlier;
            if (r.opaque) row.opaque = *r.opaque;
        });
    for (const Id id : w.cancel) {
        const Result* there = db_.results.get(id);
        if (there == nullptr || there->server_state > ServerState::kUnsent) continue;
        db_.results.change(id, [](Result& row) {
            row.server_state = ServerState::kOver;
            row.outcome = Outcome::kDidntNeed;
        });
    }
    write_statistics(w, now);
}

void MemoryValidateStore::write_workunit(const Workunit& read, const ValidationWrite& w, double now) {
    db_.workunits.change(read.id, [&](Workunit& wu) {
        wu.need_validate = w.still_needed;
        if (w.canonical_resultid != 0) {
            wu.canonical_resultid = w.canonical_resultid;
            wu.canonical_credit = w.canonical_credit;
        }
        wu.error_mask |= w.error_mask;
        if (w.assimilate) wu.assimilate_state = AssimilateState::kReady;
        if (w.target_nresults != 0) wu.target_nresults = w.target_nresults;
        // Someone else asked for a transition meanwhile (a report came in): that must not be lost.
        if (w.transition_time != 0)
            wu.transition_time =
                wu.transition_time == read.transition_time
                    ? w.transition_time
                    : std::min(wu.transition_time, std::max<std::int64_t>(static_cast<std::int64_t>(now), 1));
    });
}

void MemoryValidateStore::write_statistics(const ValidationWrite& w, double now) {
    std::vector<ValidationWrite::HostRow> due;
    for (const auto& h : w.hosts)
        if (h.hostid != 0) due.push_back(h);
    for (const auto& h : due)
        db_.host_app_versions.change({h.hostid, h.generalized_version},
                                     [&](HostAppVersion& hav) { add_verdict(hav, h); });
    std::stable_sort(due.begin(), due.end(), [](const auto& a, const auto& b) { return a.hostid < b.hostid; });
    for (const auto& h : due)
        if (h.valid) write_credit(h, now);
    for (const auto& h : due)
        if (h.app_version_id > 0 && h.pfc >= 0)
            db_.versions.change(h.app_version_id, [&](AppVersion& v) {
                add_sample(v.pfc_n, v.pfc_avg, h.pfc, kVersionRule);
                add_credit(now, h.started, h.credit, v.expavg_credit, v.expavg_time);
            });
}

void MemoryValidateStore::write_credit(const ValidationWrite::HostRow& h, double now) {
    const bool there = db_.hosts.change(h.hostid, [&](Host& host) {
        host.total_credit += h.credit;
        if (h.grants) add_credit(now, h.started, h.credit, host.expavg_credit, host.expavg_time);
        if (h.turnaround >= 0) host.avg_turnaround = blended_turnaround(host.avg_turnaround, h.turnaround);
    });
    if (!there || h.credit == 0) return;
    db_.users.change(h.userid, [&](User& user) { add_account_credit(user, h, now); });
}

}  // namespace sluice
