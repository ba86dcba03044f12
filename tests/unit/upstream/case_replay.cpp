#include "tests/unit/upstream/case_replay.h"

#include <fmt/format.h>

#include <algorithm>

#include "sluice/match/job_summary_of.h"
#include "tests/support/fake_feeder_store.h"

namespace sluice::test {

std::set<Id> in_progress(const FakeDb& rows) {
    std::set<Id> ids;
    for (const auto& [id, r] : rows.results)
        if (r.server_state == ServerState::kInProgress) ids.insert(id);
    return ids;
}

CaseDecision decision_of(const std::string& text, const FakeDb& rows, Id host, const std::set<Id>& before) {
    ReplyText reply;
    reply.run.out = text;
    CaseDecision d;
    const std::string delay = reply.value("request_delay");
    d.delay = delay.substr(0, delay.find('.'));
    for (const std::string& m : reply.messages()) d.messages.insert(m);
    std::set<std::string> told;
    for (const std::string& name : reply.result_names()) told.insert(name);
    for (const auto& [id, r] : rows.results) {
        if (r.server_state != ServerState::kInProgress || r.hostid != host || before.count(id) > 0) continue;
        d.jobs.insert(fmt::format("{} {} {} {:.4g}{}", id, r.app_version_id, r.report_deadline - r.sent_time,
                                  r.flops_estimate, told.count(r.name) > 0 ? "" : " (not in the reply)"));
        told.erase(r.name);
    }
    for (const std::string& name : told) d.jobs.insert(name + " (only in the reply)");
    return d;
}

std::string commitments_of(const FakeDb& rows) {
    std::string all;
    for (const auto& [id, wu] : rows.workunits)
        if (wu.hr_class != 0 || wu.app_version_id != 0)
            all += fmt::format("{}:{}:{} ", id, wu.hr_class, wu.app_version_id);
    return all;
}

CaseReplay::CaseReplay(std::uint64_t seed) : world_(make_case_world(seed, kNow)) {
    // The slots hold the rows as they are now, whatever is committed later.
    const RpcWorld rpc(world_.options);
    FakeFeederStore feeder(world_.rows);
    std::vector<Id> unsent;
    for (const auto& [id, r] : world_.rows.results)
        if (r.server_state == ServerState::kUnsent) unsent.push_back(id);
    for (const UnsentJob& job : feeder.load(unsent)) {
        const Workunit& w = job.workunit;
        slots_.push_back({job_summary_of(w, job.result, rpc.config.reliable_on_priority, kNow),
                          {w.name, w.xml_doc, w.keywords, job.result.name},
                          SlotState::kPresent});
    }
    slots_.resize(kSlotsOfAWorld);
}
CaseReplay::~CaseReplay() = default;

// A version that was down to one job a day got it, and with that upstream gave up the whole pass: what it sent is the
// beginning of what we send.
bool CaseReplay::a_quota_ended_a_pass(int n, const CaseDecision& recorded, const FakeDb& rows) const {
    const std::set<std::string> ours = decide(n, 1, rows).jobs;
    if (!std::includes(ours.begin(), ours.end(), recorded.jobs.begin(), recorded.jobs.end())) return false;
    return std::any_of(recorded.jobs.begin(), recorded.jobs.end(), [&](const std::string& job) {
        const auto row = world_.rows.host_app_versions.find({n + 1, std::stoll(job.substr(job.find(' ')))});
        return row != world_.rows.host_app_versions.end() && row->second.max_jobs_per_day == 1 &&
               row->second.n_jobs_today == 0;
    });
}

std::string CaseReplay::explanation(int n, const CaseDecision& recorded) const {
    // Without short core versions, which upstream's feeder takes as they stand from its first refresh on (so that they
    // keep no client away), we decide the same.
    FakeDb rows = world_.rows;
    for (auto& [id, version] : rows.versions) version.min_core_version = 0;
    if (decide(n, 1, rows).jobs == recorded.jobs)
        return "the feeder's refresh of credit scales overwrites its cached versions";
    if (a_quota_ended_a_pass(n, recorded, world_.rows) || a_quota_ended_a_pass(n, recorded, rows))
        return "An over-quota candidate ends the pass for the whole resource";
    if (world_.options.find("<workload_sim>") != std::string::npos)
        return "Simulation: cpu_time_remaining only, deadlines of this reply's jobs absolute";
    return "not explained yet";
}

std::string CaseReplay::commitments() const { return commitments_of(world_.rows); }

CaseDecision CaseReplay::decide(int n, std::uint64_t scan_seed, const FakeDb& rows) const {
    RpcWorld rpc("<dont_generate_upload_certificates>1</dont_generate_upload_certificates>" + world_.options);
    rpc.db = rows;
    rpc.reload_tables();
    if (rpc.config.size_classes) rpc.tables.size_quantiles = world_.quantiles;
    rpc.rng = FixedRng(scan_seed);
    rpc.pool.slots = slots_;
    const std::set<Id> before = in_progress(rpc.db);
    const std::string reply = rpc.send(world_.requests[static_cast<std::size_t>(n)]).text();
    return decision_of(reply, rpc.db, n + 1, before);
}

bool CaseReplay::is_determined(int n, CaseDecision& decision) const {
    decision = decide(n, 1);
    for (std::uint64_t seed = 2; seed <= 4; ++seed)
        if (decide(n, seed).jobs != decision.jobs) return false;
    return true;
}

void CaseReplay::apply(int n, const CaseDecision& recorded) {
    Host host = world_.rows.hosts[n + 1];
    ReplyText request;
    request.run.out = world_.requests[static_cast<std::size_t>(n)];
    host.os_name = request.value("os_name");
    host.p_vendor = request.value("p_vendor");
    host.p_model = request.value("p_model");
    const int global = world_.options.find("<homogeneous_redundancy>2") != std::string::npos ? 2 : 0;
    for (const std::string& job : recorded.jobs) {
        const Id id = std::stoll(job);
        for (MemoryRpcPool::Slot& slot : slots_)
            if (slot.job.result_id == id) slot.state = SlotState::kEmpty;
        Result& r = world_.rows.results[id];
        r.server_state = ServerState::kInProgress;
        r.hostid = host.id;
        r.userid = host.userid;
        r.app_version_id = std::stoll(job.substr(job.find(' ')));
        r.sent_time = kNow;
        Workunit& wu = world_.rows.workunits[r.workunitid];
        const App& app = world_.rows.apps[wu.appid];
        const HrType type =
            app.homogeneous_redundancy != HrType::kNone ? app.homogeneous_redundancy : static_cast<HrType>(global);
        if (type != HrType::kNone && wu.hr_class == 0) wu.hr_class = hr_class(host, type, 0);
        if (app.homogeneous_app_version && wu.app_version_id == 0) wu.app_version_id = r.app_version_id;
    }
}

}  // namespace sluice::test
