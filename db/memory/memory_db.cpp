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

bool in_progress(const Result& r) { return r.server_state == ServerState::kInProgress; }
bool has_transition(const Workunit& w) {
    return w.transitioner_flags != TransitionerFlags::kNoTransition && w.transition_time < kNever;
}

}  // namespace

void WorkunitIndex::add(const Workunit& w) {
    if (has_transition(w)) due.emplace(w.transition_time, w.id);
    if (w.need_validate) to_validate[w.appid].insert(w.id);
    if (w.assimilate_state == AssimilateState::kReady) to_assimilate[w.appid].insert(w.id);
    if (w.file_delete_state == FileDeleteState::kReady) to_delete.insert(w.id);
    if (w.batch != 0) of_batch[w.batch].insert(w.id);
}

void WorkunitIndex::remove(const Workunit& w) {
    if (has_transition(w)) due.erase({w.transition_time, w.id});
    if (w.need_validate) take_out_of_set(to_validate, w.appid, w.id);
    if (w.assimilate_state == AssimilateState::kReady) take_out_of_set(to_assimilate, w.appid, w.id);
    if (w.file_delete_state == FileDeleteState::kReady) to_delete.erase(w.id);
    if (w.batch != 0) take_out_of_set(of_batch, w.batch, w.id);
}

void ResultIndex::add(const Result& r) {
    insert_sorted(of_workunit[r.workunitid], r.id);
    insert_sorted(by_name[r.name], r.id);
    if (in_progress(r)) insert_sorted(in_progress_on[r.hostid], r.id);
    if (r.server_state == ServerState::kUnsent) {
        unsent_by_priority[r.priority].insert(r.id);
        unsent_of_app[r.appid].insert(r.id);
    }
    if (r.server_state == ServerState::kInactive) inactive_of_app[{r.appid, r.size_class}].insert(r.id);
}

void ResultIndex::remove(const Result& r) {
    take_out(of_workunit, r.workunitid, r.id);
    take_out(by_name, r.name, r.id);
    if (in_progress(r)) take_out(in_progress_on, r.hostid, r.id);
    if (r.server_state == ServerState::kUnsent) {
        take_out_of_set(unsent_by_priority, r.priority, r.id);
        take_out_of_set(unsent_of_app, r.appid, r.id);
    }
    if (r.server_state == ServerState::kInactive)
        take_out_of_set(inactive_of_app, std::pair<Id, int>{r.appid, r.size_class}, r.id);
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
    act(db.host_app_versions), act(db.workunits), act(db.results), act(db.assignments), act(db.batches);
    act(db.low_turnaround), act(db.from_host), act(db.to_host), act(db.account_trickles);
}

}  // namespace

void MemoryDb::begin_transaction() {
    each_table(*this, [](auto& table) { table.begin_transaction(); });
}

void MemoryDb::end_transaction(bool keep) {
    each_table(*this, [keep](auto& table) { table.end_transaction(keep); });
}

}  // namespace sluice
