// SPDX-License-Identifier: LGPL-3.0-or-later
#include "db/memory/gang_store.h"

#include <algorithm>
#include <map>

#include "sluice/base/text.h"

namespace sluice {
namespace {

constexpr double kCreditedHost = 0.1;
constexpr Id kNewHostIds = 10000;

GangId id_of(const std::pair<Id, std::int64_t>& key) { return {key.first, key.second}; }
std::pair<Id, std::int64_t> key_of(const GangId& id) { return {id.batch, id.number}; }

bool is_in_progress(const MemoryDb& db, Id batch) {
    const Batch* b = db.batches.get(batch);
    return b != nullptr && b->state == BatchState::kInProgress;
}

bool is_open(const Workunit& w) { return w.canonical_resultid == 0 && w.error_mask == 0; }

int good_run(const MemoryDb& db, Id host, int quota) {
    int least = GangHost::kNeverFailed;
    const auto& rows = db.host_app_versions.rows();
    for (auto at = rows.lower_bound({host, INT64_MIN}); at != rows.end() && at->first.first == host; ++at) {
        const HostAppVersion& v = at->second;
        const AppVersion* version = db.versions.get(at->first.second);
        if (version != nullptr && version->deprecated) continue;
        if (v.et.n > v.consecutive_valid || (v.max_jobs_per_day > 0 && v.max_jobs_per_day < quota))
            least = std::min(least, v.consecutive_valid);
    }
    return least;
}

std::map<std::string_view, const Workunit*> workunits_of(const MemoryDb& db, Id batch) {
    std::map<std::string_view, const Workunit*> by_name;
    const auto& batches = db.workunits.index().of_batch;
    if (const auto found = batches.find(batch); found != batches.end())
        for (const Id id : found->second) {
            const Workunit& w = *db.workunits.get(id);
            by_name.emplace(w.name, &w);
        }
    return by_name;
}

}  // namespace

std::optional<int> MemoryGangStore::size_in(Id batch) {
    db_.enter("gangs.size_in");
    const auto& gangs = db_.gangs.rows();
    const auto first = gangs.lower_bound({batch, INT64_MIN});
    if (first == gangs.end() || first->first.first != batch) return std::nullopt;
    return first->second.size;
}

void MemoryGangStore::define(std::span<const GangJob> jobs, int size) {
    db_.enter("gangs.define");
    for (const GangJob& j : jobs) {
        MemoryGang gang;
        if (const MemoryGang* there = db_.gangs.get(key_of(j.gang))) gang = *there;
        gang.size = size;
        gang.jobs[j.member] = j.workunit_name;
        db_.gangs.put(key_of(j.gang), std::move(gang));
    }
}

std::optional<GangFacts> MemoryGangStore::find(const GangId& id) {
    db_.enter("gangs.find");
    const MemoryGang* gang = db_.gangs.get(key_of(id));
    if (gang == nullptr) return std::nullopt;
    return GangFacts{gang->size, gang->ended > 0, gang->ended < 0};
}

std::vector<GangMemberInstance> MemoryGangStore::instances(const GangId& id, std::span<const int> members) {
    db_.enter("gangs.instances");
    std::vector<GangMemberInstance> all;
    const MemoryGang* gang = db_.gangs.get(key_of(id));
    if (gang == nullptr) return all;
    const auto by_name = workunits_of(db_, id.batch);
    for (const int member : members) {
        const auto job = gang->jobs.find(member);
        const auto w = job == gang->jobs.end() ? by_name.end() : by_name.find(job->second);
        if (w == by_name.end()) continue;
        for (const Id result : db_.results.index().instances(w->second->id)) {
            const Result& r = *db_.results.get(result);
            GangMemberInstance& i = all.emplace_back();
            i.member = member, i.name = r.name;
            i.result = {r.id, r.workunitid, r.batch, r.hostid, r.server_state, r.create_time, r.sent_time};
        }
    }
    return all;
}

GangHostStanding MemoryGangStore::standing_of(Id host) {
    db_.enter("gangs.standing_of");
    GangHostStanding standing;
    for (const auto& [key, gang] : db_.gangs.rows())
        standing.gangs |= gang.ended == 0 && is_in_progress(db_, key.first);
    if (const GangLease* lease = db_.gang_leases.get(host)) standing.lease = *lease;
    return standing;
}

std::optional<GangId> MemoryGangStore::gang_of(const std::string& workunit_name) {
    db_.enter("gangs.gang_of");
    for (const auto& [key, gang] : db_.gangs.rows())
        for (const auto& [member, name] : gang.jobs)
            if (name == workunit_name) return id_of(key);
    return std::nullopt;
}

std::optional<GangsOfBatch> MemoryGangStore::of_batch(Id batch) {
    db_.enter("gangs.of_batch");
    GangsOfBatch all;
    for (const auto& [key, gang] : db_.gangs.rows()) {
        if (key.first != batch) continue;
        all.size = std::max(all.size, gang.size);
        ++all.gangs;
        all.ended += gang.ended > 0, all.given_up += gang.ended < 0;
    }
    if (all.gangs == 0) return std::nullopt;
    for (const auto& [key, wait] : db_.gang_waits.rows())
        if (key.first == batch && wait.members > 0) all.waits.push_back(wait);
    const auto by_name = workunits_of(db_, batch);
    for (const auto& [key, gang] : db_.gangs.rows()) {
        if (key.first != batch || gang.ended != 0) continue;
        for (const auto& [member, name] : gang.jobs) {
            const auto at = by_name.find(name);
            if (at != by_name.end() && is_open(*at->second) && !is_whole(at->second->xml_doc, "workunit"))
                all.cut.push_back(at->second->id);
        }
    }
    std::sort(all.cut.begin(), all.cut.end());
    return all;
}

std::vector<GangWait> MemoryGangStore::waiting(int most) {
    db_.enter("gangs.waiting");
    std::vector<GangWait> all;
    for (const auto& [key, wait] : db_.gang_waits.rows())
        if (wait.members > 0) all.push_back(wait);
    std::stable_sort(all.begin(), all.end(), [](const GangWait& a, const GangWait& b) {
        return std::pair(a.short_since == 0, a.short_since) < std::pair(b.short_since == 0, b.short_since);
    });
    if (all.size() > static_cast<std::size_t>(most)) all.resize(static_cast<std::size_t>(most));
    return all;
}

void MemoryGangStore::end(const GangId& id, std::int64_t now) {
    db_.enter("gangs.end");
    db_.gangs.change(key_of(id), [now](MemoryGang& gang) {
        if (gang.ended == 0) gang.ended = now;
    });
}

void MemoryGangStore::remove(Id batch) {
    db_.enter("gangs.remove");
    const auto& gangs = db_.gangs.rows();
    for (auto at = gangs.lower_bound({batch, INT64_MIN}); at != gangs.end() && at->first.first == batch;)
        db_.gangs.remove(std::pair((at++)->first));
    const auto& waits = db_.gang_waits.rows();
    for (auto at = waits.lower_bound({batch, INT64_MIN}); at != waits.end() && at->first.first == batch;)
        db_.gang_waits.remove(std::pair((at++)->first));
}

std::int64_t MemoryGangLeaseStore::version() {
    db_.enter("gang_leases.version");
    return db_.gang_version;
}

bool MemoryGangLeaseStore::is_busy(const Workunit& w) const {
    if (w.canonical_resultid != 0) return true;
    const std::vector<Id>& results = db_.results.index().instances(w.id);
    return std::any_of(results.begin(), results.end(), [&](Id id) {
        const Result& r = *db_.results.get(id);
        return r.server_state <= ServerState::kInProgress ||
               (r.outcome == Outcome::kSuccess && r.validate_state != ValidateState::kInvalid);
    });
}

void MemoryGangLeaseStore::add_members(const GangId& id, const MemoryGang& gang, std::vector<GangMemberRow>& all) {
    const auto by_name = workunits_of(db_, id.batch);
    for (const auto& [member, name] : gang.jobs) {
        const auto at = by_name.find(name);
        if (at == by_name.end()) continue;
        const Workunit& w = *at->second;
        if (gang.ended != 0 && !is_open(w)) continue;
        GangMemberRow& m = all.emplace_back();
        m.gang = id;
        m.size = gang.size;
        m.workunit = w.id;
        for (const auto& [version, v] : db_.versions.rows())
            if (v.appid == w.appid && !v.deprecated) m.platforms |= platform_bit(v.platformid);
        m.fpops = w.rsc_fpops_est;
        m.failed = w.error_mask != 0;
        m.busy = is_busy(w);
        m.ended = gang.ended != 0;
        m.cut = !is_whole(w.xml_doc, "workunit");
    }
}

std::vector<GangMemberRow> MemoryGangLeaseStore::open_members(int most) {
    db_.enter("gang_leases.open_members");
    std::vector<std::pair<double, GangId>> order;
    for (const auto& [key, gang] : db_.gangs.rows())
        if (is_in_progress(db_, key.first))
            order.emplace_back(db_.batches.get(key.first)->logical_end_time, id_of(key));
    std::sort(order.begin(), order.end());
    std::vector<GangMemberRow> all;
    for (const auto& [end, id] : order) {
        if (static_cast<int>(all.size()) >= most) break;
        add_members(id, *db_.gangs.get(key_of(id)), all);
    }
    if (static_cast<int>(all.size()) < most) return all;
    all.resize(static_cast<std::size_t>(most));
    const GangId cut = all.back().gang;
    while (!all.empty() && all.back().gang == cut) all.pop_back();
    return all;
}

std::vector<GangInstance> MemoryGangLeaseStore::instances_of(std::span<const Id> workunits) {
    db_.enter("gang_leases.instances_of");
    std::vector<GangInstance> all;
    for (const Id w : workunits)
        for (const Id id : db_.results.index().instances(w)) {
            const Result& r = *db_.results.get(id);
            if (r.hostid == 0) continue;
            const Host* h = db_.hosts.get(r.hostid);
            all.push_back({w, r.hostid, r.server_state == ServerState::kInProgress, id,
                           h == nullptr ? 0 : static_cast<double>(h->rpc_time), h == nullptr ? 0 : h->p_fpops});
        }
    return all;
}

std::vector<GangLease> MemoryGangLeaseStore::leases() {
    db_.enter("gang_leases.leases");
    std::vector<GangLease> all;
    for (const auto& [id, lease] : db_.gang_leases.rows()) {
        const Id host = id;
        GangLease& l = all.emplace_back(lease);
        if (const Host* h = db_.hosts.get(host)) l.heard = static_cast<double>(h->rpc_time), l.p_fpops = h->p_fpops;
        const std::vector<Id>& results = db_.results.index().instances(l.workunit);
        l.has_it =
            std::any_of(results.begin(), results.end(), [&](Id r) { return db_.results.get(r)->hostid == host; });
    }
    return all;
}

std::vector<GangHost> MemoryGangLeaseStore::free_hosts(std::int64_t heard_since, int quota, int most) {
    db_.enter("gang_leases.free_hosts");
    Id newest = 0;
    std::vector<const Host*> credited, fresh;
    for (const auto& [id, h] : db_.hosts.rows()) {
        newest = std::max(newest, id);
        if (h.userid == 0 || h.rpc_time <= heard_since || db_.host_attempts.get(id) == nullptr ||
            db_.gang_leases.get(id) != nullptr)
            continue;
        (h.expavg_credit > kCreditedHost ? credited : fresh).push_back(&h);
    }
    std::erase_if(fresh, [&](const Host* h) { return h->id <= newest - kNewHostIds; });
    std::stable_sort(credited.begin(), credited.end(),
                     [](const Host* a, const Host* b) { return a->expavg_credit > b->expavg_credit; });
    std::reverse(fresh.begin(), fresh.end());
    std::vector<GangHost> all;
    for (auto* list : {&credited, &fresh}) {
        if (list->size() > static_cast<std::size_t>(most)) list->resize(static_cast<std::size_t>(most));
        for (const Host* h : *list) {
            const auto* standing = db_.gang_hosts.get(h->id);
            const std::int64_t *platforms = db_.host_platforms.get(h->id), *since = db_.host_on_since.get(h->id);
            all.push_back({h->id, static_cast<double>(h->rpc_time), h->on_frac, h->active_frac, h->p_fpops,
                           standing == nullptr ? 0 : standing->first, standing == nullptr ? 0 : standing->second,
                           platforms == nullptr ? kAnyPlatform : *platforms, good_run(db_, h->id, quota),
                           since == nullptr ? 0 : *since});
        }
    }
    std::stable_sort(all.begin(), all.end(), [](const GangHost& a, const GangHost& b) { return a.heard > b.heard; });
    if (all.size() > static_cast<std::size_t>(most)) all.resize(static_cast<std::size_t>(most));
    return all;
}

void MemoryGangLeaseStore::end_lease(const GangLease& l) {
    if (db_.gang_leases.get(l.host) == nullptr) return;
    db_.gang_leases.remove(l.host);
    db_.host_gang_starts.remove(l.host);
    if (!l.has_it && !l.blamed) return;
    std::pair<int, int> standing;
    if (const auto* there = db_.gang_hosts.get(l.host)) standing = *there;
    standing.first += l.has_it, standing.second += l.blamed;
    db_.gang_hosts.put(l.host, standing);
}

bool MemoryGangLeaseStore::write_leases(std::span<const GangLease> keep, std::span<const GangLease> end,
                                        std::int64_t version) {
    db_.enter("gang_leases.write_leases");
    if (db_.gang_version != version) return false;
    ++db_.gang_version;
    for (const GangLease& l : end) end_lease(l);
    for (const GangLease& l : keep) {
        GangLease row;
        row.host = l.host, row.gang = l.gang, row.start = l.start, row.since = l.since;
        row.lapses = l.lapses, row.workunit = l.workunit;
        db_.gang_leases.put(l.host, row);
        if (db_.host_attempts.get(l.host) != nullptr) db_.host_gang_starts.put(l.host, l.start);
    }
    return true;
}

void MemoryGangLeaseStore::note_waits(std::span<const GangWait> changed) {
    db_.enter("gang_leases.note_waits");
    for (const GangWait& w : changed) {
        if (w.members > 0)
            db_.gang_waits.put(key_of(w.gang), w);
        else
            db_.gang_waits.remove(key_of(w.gang));
    }
}

std::vector<GangWait> MemoryGangLeaseStore::waits() {
    db_.enter("gang_leases.waits");
    std::vector<GangWait> all;
    for (const auto& [key, wait] : db_.gang_waits.rows())
        if (wait.members > 0) all.push_back(wait);
    return all;
}

void MemoryGangLeaseStore::give_up(const GangId& id, std::span<const Id> workunits, std::int64_t now) {
    db_.enter("gang_leases.give_up");
    for (const Id workunit : workunits)
        db_.workunits.change(workunit, [now](Workunit& w) {
            if (!is_open(w)) return;
            w.error_mask = kWuCancelled;
            w.transition_time = now;
        });
    db_.gangs.change(key_of(id), [now](MemoryGang& gang) {
        if (gang.ended == 0) gang.ended = -now;
    });
}

}  // namespace sluice
