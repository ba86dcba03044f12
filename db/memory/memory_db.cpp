// SPDX-License-Identifier: LGPL-3.0-or-later
#include "db/memory/memory_db.h"

#include <algorithm>

namespace sluice {
namespace {

void insert_sorted(std::vector<Id>& ids, Id id) {
    if (ids.empty() || ids.back() < id) {
        ids.push_back(id);
        return;
    }
    ids.insert(std::lower_bound(ids.begin(), ids.end(), id), id);
}

template <typename Lists, typename Key>
void take_out(Lists& lists, const Key& key, Id id) {
    const auto at = lists.find(key);
    if (at == lists.end()) return;
    std::erase(at->second, id);
    if (at->second.empty()) lists.erase(at);
}

template <typename Sets, typename Key>
void take_out_of_set(Sets& sets, const Key& key, Id id) {
    const auto at = sets.find(key);
    if (at == sets.end()) return;
    at->second.erase(id);
    if (at->second.empty()) sets.erase(at);
}

}  // namespace

void UserIndex::remove(const User& u) { take_out_of_set(by_key, u.authenticator, u.id); }

void HostIndex::move(const Host&, const Place& before, const Place& after) {
    std::vector<double>& all = active_speeds;
    if (before.active_speed) all.erase(std::lower_bound(all.begin(), all.end(), *before.active_speed));
    if (after.active_speed)
        all.insert(std::upper_bound(all.begin(), all.end(), *after.active_speed), *after.active_speed);
}

void HostIndex::add(const Host& h) {
    move(h, {}, place(h));
    by_user[h.userid].insert(h.id);
    if (!h.domain_name.empty()) by_domain_name[{h.userid, h.domain_name}].insert(h.id);
    if (!h.host_cpid.empty()) by_cpid[{h.userid, h.host_cpid}].insert(h.id);
}

void HostIndex::remove(const Host& h) {
    move(h, place(h), {});
    take_out_of_set(by_user, h.userid, h.id);
    take_out_of_set(by_domain_name, Key{h.userid, h.domain_name}, h.id);
    take_out_of_set(by_cpid, Key{h.userid, h.host_cpid}, h.id);
}

WorkunitIndex::Place WorkunitIndex::place(const Workunit& w) {
    const bool has_transition = w.transitioner_flags != TransitionerFlags::kNoTransition && w.transition_time < kNever;
    return {
        has_transition ? w.transition_time : kNever,    w.need_validate, w.assimilate_state == AssimilateState::kReady,
        w.file_delete_state == FileDeleteState::kReady, w.appid,         w.batch};
}

void WorkunitIndex::enter(Id id, const Place& p) {
    if (p.transition_time < kNever) due.emplace(p.transition_time, id);
    if (p.to_validate) to_validate[p.app].insert(id);
    if (p.to_assimilate) to_assimilate[p.app].insert(id);
    if (p.to_delete) to_delete.insert(id);
    if (p.batch != 0) of_batch[p.batch].insert(id);
}

void WorkunitIndex::leave(Id id, const Place& p) {
    if (p.transition_time < kNever) due.erase({p.transition_time, id});
    if (p.to_validate) take_out_of_set(to_validate, p.app, id);
    if (p.to_assimilate) take_out_of_set(to_assimilate, p.app, id);
    if (p.to_delete) to_delete.erase(id);
    if (p.batch != 0) take_out_of_set(of_batch, p.batch, id);
}

void WorkunitIndex::move(const Workunit& w, const Place& before, const Place& after) {
    leave(w.id, before);
    enter(w.id, after);
}

void ResultIndex::enter(Id id, const Place& p) {
    switch (p.state) {
        case ServerState::kInProgress: insert_sorted(in_progress_on[p.host], id); break;
        case ServerState::kUnsent:
            unsent_by_priority[p.priority].insert(id);
            unsent_of_app[p.app].insert(id);
            break;
        case ServerState::kInactive: inactive_of_app[{p.app, p.size_class}].insert(id); break;
        default: break;
    }
}

void ResultIndex::leave(Id id, const Place& p) {
    switch (p.state) {
        case ServerState::kInProgress: take_out(in_progress_on, p.host, id); break;
        case ServerState::kUnsent:
            take_out_of_set(unsent_by_priority, p.priority, id);
            take_out_of_set(unsent_of_app, p.app, id);
            break;
        case ServerState::kInactive:
            take_out_of_set(inactive_of_app, std::pair<Id, int>{p.app, p.size_class}, id);
            break;
        default: break;
    }
}

void ResultIndex::move(const Result& r, const Place& before, const Place& after) {
    leave(r.id, before);
    enter(r.id, after);
}

void ResultIndex::add(const Result& r) {
    insert_sorted(of_workunit[r.workunitid], r.id);
    if (r.batch != 0) of_batch[r.batch].insert(r.id);
    insert_sorted(by_name[r.name], r.id);
    enter(r.id, place(r));
}

void ResultIndex::remove(const Result& r) {
    take_out(of_workunit, r.workunitid, r.id);
    if (r.batch != 0) take_out_of_set(of_batch, r.batch, r.id);
    take_out(by_name, r.name, r.id);
    leave(r.id, place(r));
}

const std::vector<Id>& ResultIndex::instances(Id workunit) const {
    static const std::vector<Id> none;
    const auto at = of_workunit.find(workunit);
    return at == of_workunit.end() ? none : at->second;
}

namespace {

/// Every table that stores write in a transaction.
template <typename Do>
void each_table(MemoryDb& db, Do&& act) {
    act(db.apps), act(db.versions), act(db.users), act(db.teams), act(db.hosts), act(db.host_attempts);
    act(db.host_trickle_bytes), act(db.host_app_versions), act(db.workunits), act(db.results), act(db.assignments);
    act(db.batches), act(db.low_turnaround), act(db.accelerated_jobs), act(db.accelerated_results), act(db.from_host);
    act(db.to_host), act(db.account_trickles), act(db.plans), act(db.reissue_timers);
    act(db.file_groups), act(db.group_workunits), act(db.host_gang_starts), act(db.host_platforms),
        act(db.host_on_since), act(db.gangs);
    act(db.gang_leases), act(db.gang_hosts), act(db.gang_waits);
}

}  // namespace

void sort_out(std::vector<Id>& ids) {
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
}

void MemoryDb::begin_transaction() {
    each_table(*this, [](auto& table) { table.begin_transaction(); });
}

void MemoryDb::end_transaction(bool keep) {
    each_table(*this, [keep](auto& table) { table.end_transaction(keep); });
}

}  // namespace sluice
