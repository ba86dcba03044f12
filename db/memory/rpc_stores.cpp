// SPDX-License-Identifier: LGPL-3.0-or-later
#include "db/memory/rpc_stores.h"

#include <limits>

#include "sluice/base/text.h"

namespace sluice {
namespace {

bool describes(const MachineQuery& q) {
    return q.by_description && !q.domain_name.empty() && !q.last_ip_addr.empty() && !q.os_name.empty() &&
           !q.p_model.empty();
}
/// Where the rows of a host begin in a table by host and version.
std::pair<Id, Id> first_of(Id hostid) { return {hostid, std::numeric_limits<Id>::min()}; }

template <typename Hosts>
const IdSet& hosts_of(const Hosts& hosts, const typename Hosts::key_type& key) {
    static const IdSet none;
    const auto at = hosts.find(key);
    return at == hosts.end() ? none : at->second;
}

bool same_machine(const Host& h, const MachineQuery& q) {
    return h.userid == q.userid && h.domain_name == q.domain_name && h.last_ip_addr == q.last_ip_addr &&
           h.os_name == q.os_name && h.p_model == q.p_model && h.m_nbytes == q.m_nbytes;
}

}  // namespace

Account MemoryAccountStore::account_of(const User& user) const {
    Account a{user, {}};
    if (const Team* team = db_.teams.get(user.teamid)) a.team = *team;
    return a;
}

StoredHost MemoryAccountStore::stored(const Host& host) const {
    const std::int64_t* attempt = db_.host_attempts.get(host.id);
    const std::int64_t *bytes = db_.host_trickle_bytes.get(host.id), *start = db_.host_gang_starts.get(host.id);
    const std::int64_t *platforms = db_.host_platforms.get(host.id), *since = db_.host_on_since.get(host.id);
    return {host,
            attempt == nullptr ? std::nullopt : std::optional(*attempt),
            bytes == nullptr ? 0 : *bytes,
            start == nullptr ? 0 : *start,
            platforms == nullptr ? kAnyPlatform : *platforms,
            since == nullptr ? 0 : *since};
}
std::optional<HostAndAccount> MemoryAccountStore::host_and_account(Id hostid, bool) {
    db_.enter("accounts.host_and_account");
    const Host* host = db_.hosts.get(hostid);
    if (host == nullptr) return std::nullopt;
    HostAndAccount found{stored(*host), std::nullopt};
    if (const User* user = db_.users.get(host->userid)) found.account = account_of(*user);
    return found;
}
std::optional<Account> MemoryAccountStore::account_by_key(std::string_view authenticator) {
    db_.enter("accounts.account_by_key");
    const auto& by_key = db_.users.index().by_key;
    const auto found = by_key.find(std::string(authenticator));
    if (found == by_key.end() || found->second.empty()) return std::nullopt;
    return account_of(*db_.users.get(*found->second.begin()));
}
std::optional<Account> MemoryAccountStore::account_by_id(Id userid) {
    db_.enter("accounts.account_by_id");
    const User* user = db_.users.get(userid);
    return user == nullptr ? std::nullopt : std::optional(account_of(*user));
}
KnownMachines MemoryAccountStore::known_machines(const MachineQuery& q) {
    db_.enter("accounts.known_machines");
    KnownMachines known;
    if (!q.hashed_cpid.empty())  // ascending: the newest stays
        for (const Id id : hosts_of(db_.hosts.index().by_cpid, {q.userid, q.hashed_cpid}))
            known.by_cpid = stored(*db_.hosts.get(id));
    if (const Host* same = find_same(q)) known.by_description = stored(*same);
    known.too_many_new = too_many_new(q);
    return known;
}
const Host* MemoryAccountStore::find_same(const MachineQuery& q) const {
    if (!describes(q)) return nullptr;
    const Host* newest = nullptr;
    for (const Id id : hosts_of(db_.hosts.index().by_domain_name, {q.userid, q.domain_name}))
        if (const Host* h = db_.hosts.get(id); same_machine(*h, q)) newest = h;
    return newest;
}
bool MemoryAccountStore::too_many_new(const MachineQuery& q) const {
    if (q.most_new <= 0) return false;
    std::vector<Id> mine;
    for (const Id id : hosts_of(db_.hosts.index().by_user, q.userid)) mine.push_back(id);
    const auto most = static_cast<std::size_t>(q.most_new);
    return mine.size() >= most && db_.hosts.get(mine[mine.size() - most])->create_time >= q.new_since;
}
Id MemoryAccountStore::insert_host(const StoredHost& host, const MachineQuery* same) {
    db_.enter("accounts.insert_host");
    if (same != nullptr && find_same(*same) != nullptr) return 0;
    const Id id = db_.hosts.next_key();
    Host row = host;
    row.id = id;
    row.total_credit = row.expavg_credit = row.avg_turnaround = row.error_rate = row.cpu_efficiency = 0;
    row.max_results_day = 0;
    row.serialnum.clear();
    db_.hosts.put(id, std::move(row));
    if (host.attempt) db_.host_attempts.put(id, *host.attempt);
    db_.host_trickle_bytes.put(id, host.trickle_bytes);
    db_.host_platforms.put(id, host.platforms);
    db_.host_on_since.put(id, host.on_since);
    return id;
}
bool MemoryAccountStore::written_by(Id hostid, std::int64_t attempt) {
    db_.enter("accounts.written_by");
    const std::int64_t* last = db_.host_attempts.get(hostid);
    return last != nullptr && *last == attempt;
}
void MemoryAccountStore::update_host(const StoredHost& before, const StoredHost& after, Id userid,
                                     const UserChange& change, const std::function<void()>& outdated) {
    db_.enter("accounts.update_host");
    const Host* there = db_.hosts.get(after.id);
    if (there == nullptr || there->rpc_time != before.rpc_time || there->rpc_seqno != before.rpc_seqno ||
        stored(*there).attempt != before.attempt)
        return outdated();
    Host row = after;
    row.rpc_seqno = clamp_to_int32(after.rpc_seqno);
    const Host& old = *there;
    row.create_time = old.create_time;
    row.userid = old.userid;
    row.total_credit = old.total_credit;
    row.expavg_credit = old.expavg_credit;
    row.expavg_time = old.expavg_time;
    row.serialnum = old.serialnum;
    row.cpu_efficiency = old.cpu_efficiency;
    row.venue = old.venue;
    row.avg_turnaround = old.avg_turnaround;
    row.max_results_day = old.max_results_day;
    row.error_rate = old.error_rate;
    db_.hosts.put(after.id, std::move(row));
    if (after.attempt) db_.host_attempts.put(after.id, *after.attempt);
    db_.host_trickle_bytes.put(after.id, after.trickle_bytes);
    db_.host_platforms.put(after.id, after.platforms);
    db_.host_on_since.put(after.id, after.on_since);
    change_user(userid, change);
}
void MemoryAccountStore::update_user(Id userid, const UserChange& change) {
    db_.enter("accounts.update_user");
    change_user(userid, change);
}
void MemoryAccountStore::change_user(Id userid, const UserChange& change) {
    if (!change.any()) return;
    db_.users.change(userid, [&](User& user) {
        if (change.cross_project_id) user.cross_project_id = *change.cross_project_id;
        if (change.global_prefs && user.global_prefs == change.global_prefs_before)
            user.global_prefs = *change.global_prefs;
    });
}

HostState MemoryHostStateStore::load(Id hostid, bool with_messages, bool with_turnaround) {
    db_.enter("host_states.load");
    HostState state;
    const auto& versions = db_.host_app_versions.rows();
    for (auto at = versions.lower_bound(first_of(hostid)); at != versions.end() && at->first.first == hostid; ++at)
        state.versions.push_back(at->second);
    if (with_messages)
        for (const auto& [id, m] : db_.to_host.rows())
            if (m.hostid == hostid && !m.handled) state.messages.push_back({id, m.xml});
    const auto& verdicts = db_.low_turnaround.rows();
    if (with_turnaround)
        for (auto at = verdicts.lower_bound(first_of(hostid)); at != verdicts.end() && at->first.first == hostid; ++at)
            state.low_turnaround.emplace_back(at->first.second, at->second);
    return state;
}
void MemoryHostStateStore::change_versions(Id hostid, bool new_day, std::span<const VersionChange> changes) {
    db_.enter("host_states.change_versions");
    for (const VersionChange& c : changes) {
        const bool known = db_.host_app_versions.change({hostid, c.generalized_id}, [&](HostAppVersion& row) {
            row.n_jobs_today = (new_day ? 0 : row.n_jobs_today) + c.jobs_sent;
            if (c.max_jobs_per_day != 0) row.max_jobs_per_day = std::max(1, row.max_jobs_per_day + c.max_jobs_per_day);
            if (c.lost_trust) row.consecutive_valid = 0;
        });
        if (known) continue;
        HostAppVersion row;
        row.host_id = hostid;
        row.app_version_id = c.generalized_id;
        row.max_jobs_per_day = c.max_jobs_per_day;
        row.n_jobs_today = c.jobs_sent;
        db_.host_app_versions.put({hostid, c.generalized_id}, row);
    }
}
void MemoryHostStateStore::insert_messages(Id hostid, std::int64_t now, std::span<const MessageFromHost> messages) {
    db_.enter("host_states.insert_messages");
    for (const MessageFromHost& m : messages) {
        const Id id = db_.from_host.next_key();
        db_.from_host.put(id, {id, hostid, now, m.variety, m.xml, false});
    }
}
std::int64_t MemoryHostStateStore::trickle_bytes(const AccountDay& account) {
    db_.enter("host_states.trickle_bytes");
    const auto* row = db_.account_trickles.get(account.userid);
    return row == nullptr || row->first != account.day ? 0 : row->second;
}
void MemoryHostStateStore::add_trickle_bytes(const AccountDay& account, std::int64_t bytes) {
    db_.enter("host_states.add_trickle_bytes");
    const auto* row = db_.account_trickles.get(account.userid);
    const bool same_day = row != nullptr && row->first == account.day;
    db_.account_trickles.put(account.userid, {account.day, bytes + (same_day ? row->second : 0)});
}
void MemoryHostStateStore::mark_delivered(std::span<const Id> messages) {
    db_.enter("host_states.mark_delivered");
    for (const Id id : messages) db_.to_host.change(id, [](MemoryMessage& m) { m.handled = true; });
}

KnownResult MemoryRpcResultStore::known(const Result& r) const {
    KnownResult k;
    k.id = r.id;
    k.workunitid = r.workunitid;
    k.appid = r.appid;
    k.name = r.name;
    k.server_state = r.server_state;
    k.outcome = r.outcome;
    k.validate_state = r.validate_state;
    k.file_delete_state = r.file_delete_state;
    k.client_state = r.client_state;
    k.sent_time = r.sent_time;
    k.received_time = r.received_time;
    k.report_deadline = r.report_deadline;
    k.hostid = r.hostid;
    if (const Host* h = db_.hosts.get(r.hostid)) k.userid_of_host = h->userid;
    k.app_version_id = r.app_version_id;
    k.batch = r.batch;
    if (const Workunit* w = db_.workunits.get(r.workunitid)) {
        k.wu_error_mask = w->error_mask;
        k.wu_assimilate_state = w->assimilate_state;
        k.wu_memory_bound = w->rsc_memory_bound;
    }
    return k;
}

std::vector<KnownResult> MemoryRpcResultStore::load(const ResultQuery& query) {
    db_.enter("results.load");
    const ResultIndex& index = db_.results.index();
    std::vector<Id> ids;
    for (const std::string& name : query.names)
        if (const auto at = index.by_name.find(name); at != index.by_name.end())
            ids.insert(ids.end(), at->second.begin(), at->second.end());
    if (query.in_progress_on_host != 0)
        if (const auto at = index.in_progress_on.find(query.in_progress_on_host); at != index.in_progress_on.end())
            ids.insert(ids.end(), at->second.begin(), at->second.end());
    sort_out(ids);
    std::vector<KnownResult> found;
    for (const Id id : ids) found.push_back(known(*db_.results.get(id)));
    return found;
}

std::vector<LostJob> MemoryRpcResultStore::lost_jobs(std::span<const Id> results) {
    db_.enter("results.lost_jobs");
    std::vector<LostJob> jobs;
    std::vector<Id> ids(results.begin(), results.end());
    sort_out(ids);
    std::reverse(ids.begin(), ids.end());  // newest first
    for (const Id id : ids) {
        const Result* r = db_.results.get(id);
        if (r == nullptr) continue;
        LostJob job{*r, false, {}};
        if (const Workunit* w = db_.workunits.get(r->workunitid)) {
            job.workunit_found = true;
            job.workunit = *w;
        }
        jobs.push_back(job);
    }
    return jobs;
}

std::vector<WorkunitFacts> MemoryRpcResultStore::facts(const FactsQuery& query) {
    db_.enter("results.facts");
    std::vector<WorkunitFacts> facts;
    for (const Id id : query.results) {
        WorkunitFacts& f = facts.emplace_back();
        f.result_id = id;
        const Result* r = db_.results.get(id);
        const Workunit* w = r == nullptr ? nullptr : db_.workunits.get(r->workunitid);
        if (w == nullptr) continue;
        f.found = true;
        f.workunit_id = r->workunitid;
        f.server_state = r->server_state;
        f.error_mask = w->error_mask;
        f.canonical_resultid = w->canonical_resultid;
        f.hr_class = w->hr_class;
        f.app_version_id = w->app_version_id;
        f.transitioner_flags = static_cast<int>(w->transitioner_flags);
        f.transition_time = w->transition_time;
        f.result_name = r->name;
        f.result_xml_doc_in = r->xml_doc_in;
        if (!query.count_user && !query.count_host) continue;
        for (const Id other : db_.results.index().instances(r->workunitid)) {
            const Result& o = *db_.results.get(other);
            f.results_of_user += query.count_user && o.userid == query.userid;
            f.results_of_host += query.count_host && o.hostid == query.hostid;
        }
    }
    return facts;
}

void MemoryRpcResultStore::touch_workunits(std::span<const WorkunitTouch> touches) {
    db_.enter("results.touch_workunits");
    for (const WorkunitTouch& t : touches) {
        db_.workunits.change(t.id, [&](Workunit& w) {
            w.transition_time = t.at_most ? std::min(w.transition_time, t.transition_time) : t.transition_time;
            if (w.hr_class == 0) w.hr_class = t.hr_class;
            if (w.app_version_id == 0) w.app_version_id = t.app_version_id;
            if (t.replicate > 0) w.target_nresults = w.min_quorum = t.replicate;
        });
    }
}

void MemoryRpcResultStore::store_reports(const ReportBatch& batch, const OnRefused& on_refused) {
    db_.enter("results.store_reports");
    std::vector<Id> refused;
    for (const ReportWrite& w : batch.results) {
        const Result* there = db_.results.get(w.id);
        const bool late = there != nullptr && there->server_state == ServerState::kOver &&
                          (there->outcome == Outcome::kNoReply || there->outcome == Outcome::kClientDetached);
        if (there == nullptr || there->received_time != 0 ||
            !(late || there->server_state == ServerState::kInProgress)) {
            refused.push_back(w.id);
            continue;
        }
        db_.results.change(w.id, [&](Result& r) {
            r.client_state = w.client_state;
            r.cpu_time = w.cpu_time;
            r.elapsed_time = w.elapsed_time;
            r.peak_working_set_size = w.peak_working_set_size;
            r.peak_swap_size = w.peak_swap_size;
            r.peak_disk_usage = w.peak_disk_usage;
            r.exit_status = w.exit_status;
            r.app_version_num = w.app_version_num;
            r.outcome = w.outcome;
            r.validate_state = w.validate_state;
            r.stderr_out = w.stderr_out;
            r.xml_doc_out = w.xml_doc_out;
            r.hostid = batch.hostid;
            r.teamid = batch.teamid;
            r.received_time = batch.now;
            r.server_state = ServerState::kOver;
        });
    }
    if (!refused.empty()) on_refused(refused);
}

bool MemoryRpcResultStore::may_send(const SendBatch& batch, const SendWrite& s) const {
    const Result* r = db_.results.get(s.id);
    const Workunit* w = r == nullptr ? nullptr : db_.workunits.get(r->workunitid);
    if (w == nullptr) return false;
    if (s.hr_class > 0 && w->hr_class != s.hr_class) return false;
    if (s.committed_version > 0 && w->app_version_id != s.committed_version) return false;
    if (s.resend) return r->server_state == ServerState::kInProgress && r->hostid == batch.hostid;
    if (r->server_state != ServerState::kUnsent || w->error_mask != 0) return false;
    if (!batch.one_per_user && !batch.one_per_host) return true;
    const auto& instances = db_.results.index().instances(r->workunitid);
    return std::none_of(instances.begin(), instances.end(), [&](Id other) {
        const Result& o = *db_.results.get(other);
        return batch.one_per_user ? o.userid == batch.userid : o.hostid == batch.hostid;
    });
}

void MemoryRpcResultStore::send(const SendBatch& batch, const OnRefused& on_refused) {
    db_.enter("results.send");
    std::vector<const SendWrite*> taken;
    std::vector<Id> refused;
    for (const SendWrite& s : batch.results) {
        if (may_send(batch, s))
            taken.push_back(&s);
        else
            refused.push_back(s.id);
    }
    for (const SendWrite* s : taken) {
        db_.results.change(s->id, [&](Result& r) {
            r.server_state = ServerState::kInProgress;
            r.hostid = batch.hostid;
            r.userid = batch.userid;
            r.sent_time = s->sent_time != 0 ? s->sent_time : batch.now;
            r.report_deadline = s->report_deadline;
            r.flops_estimate = s->flops_estimate;
            r.app_version_id = s->app_version_id;
        });
    }
    if (!refused.empty()) on_refused(refused);
}

void MemoryRpcResultStore::detach(Id hostid, std::int64_t now, std::span<const Id> results) {
    db_.enter("results.detach");
    for (const Id id : results) {
        const Result* there = db_.results.get(id);
        if (there == nullptr || there->server_state != ServerState::kInProgress || there->hostid != hostid) continue;
        db_.results.change(id, [&](Result& r) {
            r.server_state = ServerState::kOver;
            r.outcome = Outcome::kClientDetached;
            r.received_time = now;
        });
    }
}

}  // namespace sluice
