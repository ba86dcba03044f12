#include "tests/support/fake_rpc_stores.h"

#include "sluice/base/text.h"

namespace sluice::test {
namespace {

bool describes(const MachineQuery& q) {
    return q.by_description && !q.domain_name.empty() && !q.last_ip_addr.empty() && !q.os_name.empty() &&
           !q.p_model.empty();
}
bool same_machine(const Host& h, const MachineQuery& q) {
    return h.userid == q.userid && h.domain_name == q.domain_name && h.last_ip_addr == q.last_ip_addr &&
           h.os_name == q.os_name && h.p_model == q.p_model && h.m_nbytes == q.m_nbytes;
}

}  // namespace

Account FakeAccountStore::account_of(const User& user) const {
    Account a{user, {}};
    if (const auto team = db_.teams.find(user.teamid); team != db_.teams.end()) a.team = team->second;
    return a;
}

std::optional<HostAndAccount> FakeAccountStore::host_and_account(Id hostid, bool) {
    db_.enter("accounts.host_and_account");
    const auto host = db_.hosts.find(hostid);
    if (host == db_.hosts.end()) return std::nullopt;
    HostAndAccount found{stored(host->second), std::nullopt};
    if (const auto user = db_.users.find(host->second.userid); user != db_.users.end())
        found.account = account_of(user->second);
    return found;
}
std::optional<Account> FakeAccountStore::account_by_key(std::string_view authenticator) {
    db_.enter("accounts.account_by_key");
    for (const auto& [id, user] : db_.users)
        if (user.authenticator == authenticator) return account_of(user);
    return std::nullopt;
}
std::optional<Account> FakeAccountStore::account_by_id(Id userid) {
    db_.enter("accounts.account_by_id");
    const auto user = db_.users.find(userid);
    return user == db_.users.end() ? std::nullopt : std::optional(account_of(user->second));
}
KnownMachines FakeAccountStore::known_machines(const MachineQuery& q) {
    db_.enter("accounts.known_machines");
    KnownMachines known;
    for (const auto& [id, h] : db_.hosts) {  // ascending: the newest stays
        if (h.userid == q.userid && !q.hashed_cpid.empty() && h.host_cpid == q.hashed_cpid) known.by_cpid = stored(h);
        if (describes(q) && same_machine(h, q)) known.by_description = stored(h);
    }
    known.too_many_new = too_many_new(q);
    return known;
}
Id FakeAccountStore::insert_host(const StoredHost& host, const MachineQuery* same) {
    db_.enter("accounts.insert_host");
    if (same != nullptr && describes(*same))
        for (const auto& [id, h] : db_.hosts)
            if (same_machine(h, *same)) return 0;
    const Id id = FakeDb::next_id(db_.hosts);
    Host& row = db_.hosts[id] = host;
    row.id = id;
    row.total_credit = row.expavg_credit = row.avg_turnaround = row.error_rate = row.cpu_efficiency = 0;
    row.max_results_day = 0;
    row.serialnum.clear();
    if (host.attempt) db_.host_attempts[id] = *host.attempt;
    db_.host_trickle_bytes[id] = host.trickle_bytes;
    return id;
}
bool FakeAccountStore::written_by(Id hostid, std::int64_t attempt) {
    db_.enter("accounts.written_by");
    return db_.host_attempts.contains(hostid) && db_.host_attempts.at(hostid) == attempt;
}
bool FakeAccountStore::update_host(const StoredHost& before, const StoredHost& after, Id userid,
                                   const UserChange& change) {
    db_.enter("accounts.update_host");
    const auto it = db_.hosts.find(after.id);
    if (it == db_.hosts.end() || it->second.rpc_time != before.rpc_time || it->second.rpc_seqno != before.rpc_seqno ||
        stored(it->second).attempt != before.attempt)
        return false;
    Host row = after;
    row.rpc_seqno = clamp_to_int32(after.rpc_seqno);
    const Host& old = it->second;
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
    it->second = row;
    if (after.attempt) db_.host_attempts[after.id] = *after.attempt;
    db_.host_trickle_bytes[after.id] = after.trickle_bytes;
    change_user(userid, change);
    return true;
}
void FakeAccountStore::update_user(Id userid, const UserChange& change) {
    db_.enter("accounts.update_user");
    change_user(userid, change);
}
void FakeAccountStore::change_user(Id userid, const UserChange& change) {
    const auto it = db_.users.find(userid);
    if (it == db_.users.end()) return;
    if (change.cross_project_id) it->second.cross_project_id = *change.cross_project_id;
    if (change.global_prefs && it->second.global_prefs == change.global_prefs_before)
        it->second.global_prefs = *change.global_prefs;
}

HostState FakeHostStateStore::load(Id hostid, bool with_messages, bool with_turnaround) {
    db_.enter("host_states.load");
    HostState state;
    for (const auto& [key, row] : db_.host_app_versions)
        if (key.first == hostid) state.versions.push_back(row);
    if (with_messages)
        for (const auto& [id, m] : db_.to_host)
            if (m.hostid == hostid && !m.handled) state.messages.push_back({id, m.xml});
    if (with_turnaround)
        for (const auto& [key, low] : db_.low_turnaround)
            if (key.first == hostid) state.low_turnaround.emplace_back(key.second, low);
    return state;
}
void FakeHostStateStore::change_versions(Id hostid, bool new_day, std::span<const VersionChange> changes) {
    db_.enter("host_states.change_versions");
    for (const VersionChange& c : changes) {
        const auto [it, is_new] = db_.host_app_versions.try_emplace({hostid, c.generalized_id});
        HostAppVersion& row = it->second;
        row.host_id = hostid;
        row.app_version_id = c.generalized_id;
        if (is_new) {
            row.max_jobs_per_day = c.max_jobs_per_day;
            row.n_jobs_today = c.jobs_sent;
            continue;
        }
        row.n_jobs_today = (new_day ? 0 : row.n_jobs_today) + c.jobs_sent;
        if (c.max_jobs_per_day != 0) row.max_jobs_per_day = std::max(1, row.max_jobs_per_day + c.max_jobs_per_day);
        if (c.lost_trust) row.consecutive_valid = 0;
    }
}
void FakeHostStateStore::insert_messages(Id hostid, std::int64_t now, std::span<const MessageFromHost> messages) {
    db_.enter("host_states.insert_messages");
    for (const MessageFromHost& m : messages) {
        const Id id = FakeDb::next_id(db_.from_host);
        db_.from_host[id] = {id, hostid, now, m.variety, m.xml, false};
    }
}
void FakeHostStateStore::mark_delivered(std::span<const Id> messages) {
    db_.enter("host_states.mark_delivered");
    for (const Id id : messages)
        if (const auto it = db_.to_host.find(id); it != db_.to_host.end()) it->second.handled = true;
}

KnownResult FakeRpcResultStore::known(const Result& r) const {
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
    if (const auto h = db_.hosts.find(r.hostid); h != db_.hosts.end()) k.userid_of_host = h->second.userid;
    k.app_version_id = r.app_version_id;
    k.batch = r.batch;
    if (const auto w = db_.workunits.find(r.workunitid); w != db_.workunits.end()) {
        k.wu_error_mask = w->second.error_mask;
        k.wu_assimilate_state = w->second.assimilate_state;
        k.wu_memory_bound = w->second.rsc_memory_bound;
    }
    return k;
}

std::vector<KnownResult> FakeRpcResultStore::load(const ResultQuery& query) {
    db_.enter("results.load");
    const std::unordered_set<std::string> names(query.names.begin(), query.names.end());
    std::vector<KnownResult> found;
    for (const auto& [id, r] : db_.results)
        if (names.contains(r.name) || (query.in_progress_on_host != 0 && r.hostid == query.in_progress_on_host &&
                                       r.server_state == ServerState::kInProgress))
            found.push_back(known(r));
    return found;
}

std::vector<LostJob> FakeRpcResultStore::lost_jobs(std::span<const Id> results) {
    db_.enter("results.lost_jobs");
    std::vector<LostJob> jobs;
    for (auto it = db_.results.rbegin(); it != db_.results.rend(); ++it) {
        if (std::find(results.begin(), results.end(), it->first) == results.end()) continue;
        LostJob job{it->second, false, {}};
        if (const auto w = db_.workunits.find(it->second.workunitid); w != db_.workunits.end()) {
            job.workunit_found = true;
            job.workunit = w->second;
        }
        jobs.push_back(job);
    }
    return jobs;
}

std::vector<WorkunitFacts> FakeRpcResultStore::facts(const FactsQuery& query) {
    db_.enter("results.facts");
    std::vector<WorkunitFacts> facts;
    for (const Id id : query.results) {
        WorkunitFacts& f = facts.emplace_back();
        f.result_id = id;
        const auto r = db_.results.find(id);
        if (r == db_.results.end()) continue;
        const auto w = db_.workunits.find(r->second.workunitid);
        if (w == db_.workunits.end()) continue;
        f.found = true;
        f.workunit_id = w->first;
        f.server_state = r->second.server_state;
        f.error_mask = w->second.error_mask;
        f.canonical_resultid = w->second.canonical_resultid;
        f.hr_class = w->second.hr_class;
        f.app_version_id = w->second.app_version_id;
        f.transitioner_flags = static_cast<int>(w->second.transitioner_flags);
        f.transition_time = w->second.transition_time;
        f.result_name = r->second.name;
        f.result_xml_doc_in = r->second.xml_doc_in;
        for (const auto& [oid, o] : db_.results) {
            if (o.workunitid != w->first) continue;
            f.results_of_user += query.count_user && o.userid == query.userid;
            f.results_of_host += query.count_host && o.hostid == query.hostid;
        }
    }
    return facts;
}

void FakeRpcResultStore::touch_workunits(std::span<const WorkunitTouch> touches) {
    db_.enter("results.touch_workunits");
    for (const WorkunitTouch& t : touches) {
        const auto it = db_.workunits.find(t.id);
        if (it == db_.workunits.end()) continue;
        Workunit& w = it->second;
        w.transition_time = t.at_most ? std::min(w.transition_time, t.transition_time) : t.transition_time;
        if (w.hr_class == 0) w.hr_class = t.hr_class;
        if (w.app_version_id == 0) w.app_version_id = t.app_version_id;
        if (t.replicate > 0) w.target_nresults = w.min_quorum = t.replicate;
    }
}

std::vector<Id> FakeRpcResultStore::store_reports(const ReportBatch& batch) {
    db_.enter("results.store_reports");
    std::vector<Id> refused;
    for (const ReportWrite& w : batch.results) {
        const auto it = db_.results.find(w.id);
        const bool late = it != db_.results.end() && it->second.server_state == ServerState::kOver &&
                          (it->second.outcome == Outcome::kNoReply || it->second.outcome == Outcome::kClientDetached);
        if (it == db_.results.end() || it->second.received_time != 0 ||
            !(late || it->second.server_state == ServerState::kInProgress)) {
            refused.push_back(w.id);
            continue;
        }
        Result& r = it->second;
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
    }
    return refused;
}

bool FakeRpcResultStore::may_send(const SendBatch& batch, const SendWrite& s) const {
    const auto r = db_.results.find(s.id);
    if (r == db_.results.end()) return false;
    const auto w = db_.workunits.find(r->second.workunitid);
    if (w == db_.workunits.end()) return false;
    if (s.hr_class > 0 && w->second.hr_class != s.hr_class) return false;
    if (s.committed_version > 0 && w->second.app_version_id != s.committed_version) return false;
    if (s.resend) return r->second.server_state == ServerState::kInProgress && r->second.hostid == batch.hostid;
    if (r->second.server_state != ServerState::kUnsent || w->second.error_mask != 0) return false;
    if (!batch.one_per_user && !batch.one_per_host) return true;
    return std::none_of(db_.results.begin(), db_.results.end(), [&](const auto& entry) {
        const Result& o = entry.second;
        if (o.workunitid != r->second.workunitid) return false;
        return batch.one_per_user ? o.userid == batch.userid : o.hostid == batch.hostid;
    });
}

std::vector<Id> FakeRpcResultStore::send(const SendBatch& batch) {
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
        Result& r = db_.results.at(s->id);
        r.server_state = ServerState::kInProgress;
        r.hostid = batch.hostid;
        r.userid = batch.userid;
        r.sent_time = s->sent_time != 0 ? s->sent_time : batch.now;
        r.report_deadline = s->report_deadline;
        r.flops_estimate = s->flops_estimate;
        r.app_version_id = s->app_version_id;
    }
    return refused;
}

void FakeRpcResultStore::detach(Id hostid, std::int64_t now, std::span<const Id> results) {
    db_.enter("results.detach");
    for (const Id id : results) {
        const auto it = db_.results.find(id);
        if (it == db_.results.end() || it->second.server_state != ServerState::kInProgress ||
            it->second.hostid != hostid)
            continue;
        it->second.server_state = ServerState::kOver;
        it->second.outcome = Outcome::kClientDetached;
        it->second.received_time = now;
    }
}

InstanceCounts FakeAssignmentStore::counts(Id workunit, Id hostid) const {
    InstanceCounts n;
    n.workunitid = workunit;
    for (const auto& [id, r] : db_.results) {
        if (r.workunitid != workunit) continue;
        n.unsent += r.server_state == ServerState::kInactive || r.server_state == ServerState::kUnsent;
        n.in_progress += r.server_state == ServerState::kInProgress;
        n.successful += r.server_state == ServerState::kOver && r.outcome == Outcome::kSuccess &&
                        r.validate_state != ValidateState::kInvalid;
        n.on_this_host |= r.hostid == hostid;
    }
    return n;
}

std::vector<AssignedJob> FakeAssignmentStore::load_rows(const AssignmentQuery& q) {
    db_.enter("assignments.load");
    std::vector<AssignedJob> jobs;
    const auto add = [&](const Assignment& a) {
        AssignedJob job;
        job.assignment = a;
        job.instances = counts(a.workunitid, q.hostid);
        if (const auto w = db_.workunits.find(a.workunitid); w != db_.workunits.end()) {
            job.workunit_found = true;
            job.workunit = w->second;
        }
        jobs.push_back(job);
    };
    const auto targets = [&](AssignTarget type, Id target) {
        for (const auto& [id, a] : db_.assignments)
            if (target != 0 && !a.multi && a.target_type == type && a.target_id == target) add(a);
    };
    if (q.targeted) {
        targets(AssignTarget::kUser, q.userid);
        targets(AssignTarget::kHost, q.hostid);
        targets(AssignTarget::kTeam, q.teamid);
    }
    for (const auto& [id, a] : db_.assignments)
        if (a.multi &&
            std::any_of(q.broadcasts.begin(), q.broadcasts.end(), [row = id](const auto& b) { return b.id == row; }))
            add(a);
    return jobs;
}
std::vector<InstanceCounts> FakeAssignmentStore::instances_now(std::span<const Id> workunits, Id hostid) {
    db_.enter("assignments.instances_now");
    std::vector<InstanceCounts> now;
    for (const Id w : std::set<Id>(workunits.begin(), workunits.end()))
        if (std::any_of(db_.results.begin(), db_.results.end(),
                        [&](const auto& e) { return e.second.workunitid == w; }))
            now.push_back(counts(w, hostid));
    return now;
}
void FakeAssignmentStore::insert_results(std::span<const Result> results) {
    db_.enter("assignments.insert_results");
    for (Result r : results) {
        r.id = FakeDb::next_id(db_.results);
        db_.results[r.id] = r;
    }
}
void FakeAssignmentStore::remove(std::span<const Id> assignments) {
    db_.enter("assignments.remove");
    for (const Id id : assignments) db_.assignments.erase(id);
}

}  // namespace sluice::test
