// SPDX-License-Identifier: LGPL-3.0-or-later
#include "tests/unit/upstream/case_replay.h"

#include <fmt/format.h>

#include <algorithm>

#include "db/memory/feeder_store.h"
#include "sluice/match/job_summary_of.h"
#include "tests/support/fake_db.h"

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
    MemoryFeederStore feeder(world_.rows.memory);
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

std::string CaseReplay::UpstreamsRules::names() const {
    std::string all;
    const auto add = [&](const char* row) { all += (all.empty() ? "" : " + ") + std::string(row); };
    if (refreshed) add("the feeder's refresh of credit scales overwrites its cached versions");
    if (!most_instances.empty()) add("An over-quota candidate ends the pass for the whole resource");
    if (deadlines) add("Simulation: cpu_time_remaining only, deadlines of this reply's jobs absolute");
    return all;
}

// A version that was down to one job a day got it, and with that upstream gave up the pass of its resource. The number
// of such jobs by resource (true: GPUs).
std::map<bool, int> CaseReplay::passes_that_a_quota_may_end(int n, const CaseDecision& recorded) const {
    std::map<bool, int> jobs;
    std::set<bool> ended;
    for (const std::string& job : recorded.jobs) {
        const Id version = std::stoll(job.substr(job.find(' ')));
        const bool gpu = uses_gpu(world_.rows.versions.at(version));
        ++jobs[gpu];
        const auto row = world_.rows.host_app_versions.find({n + 1, version});
        if (row != world_.rows.host_app_versions.end() && row->second.max_jobs_per_day == 1 &&
            row->second.n_jobs_today == 0)
            ended.insert(gpu);
    }
    std::erase_if(jobs, [&](const auto& resource) { return !ended.contains(resource.first); });
    return jobs;
}

std::string CaseReplay::explanation(int n, const CaseDecision& recorded) const {
    const bool simulated = world_.options.find("<workload_sim>") != std::string::npos &&
                           has_a_simulated_queue(world_.requests[static_cast<std::size_t>(n)]);
    const std::map<bool, int> ended = passes_that_a_quota_may_end(n, recorded);
    constexpr int kMostCpus = 8;  // that one job takes
    // Without a limit, or as if the client wanted just what upstream sent: so many instances.
    const auto limits = [&](bool gpu) {
        std::vector<int> all{0};
        const auto jobs = ended.find(gpu);
        for (int i = 1; jobs != ended.end() && i <= jobs->second * (gpu ? 1 : kMostCpus); ++i) all.push_back(i);
        return all;
    };
    for (const bool deadlines : {false, true}) {  // which take longest
        if (deadlines && !simulated) continue;
        for (const bool refreshed : {false, true})
            for (const int gpus : limits(true))
                for (const int cpus : limits(false)) {
                    UpstreamsRules rules{refreshed, deadlines, {}};
                    if (gpus > 0) rules.most_instances[true] = gpus;
                    if (cpus > 0) rules.most_instances[false] = cpus;
                    if (decide(n, 1, rules).jobs == recorded.jobs) return rules.names();
                }
    }
    return "not explained yet";
}

std::string CaseReplay::commitments() const { return commitments_of(world_.rows); }

std::string CaseReplay::request(int n, const UpstreamsRules& rules) const {
    std::string text = world_.requests[static_cast<std::size_t>(n)];
    const auto set = [&](const std::string& tag, const std::string& value) {
        const std::string open = "<" + tag + ">";
        const std::size_t at = text.find(open) + open.size();
        if (text.find(open) == std::string::npos) return;  // a host without GPUs
        text.replace(at, text.find('<', at) - at, value);
    };
    // Who asks for processors without saying for how long still asks for them where no GPU is wanted any more.
    if (rules.most_instances.contains(true) && text.find("<cpu_req_secs>0<") != std::string::npos &&
        text.find("<cpu_req_instances>0<") == std::string::npos)
        set("cpu_req_secs", "1e-9");
    for (const auto& [gpu, instances] : rules.most_instances) {
        // Not 0: without seconds for any resource the request counts as an old client's.
        set(gpu ? "req_secs" : "cpu_req_secs", instances > 0 ? "1e-9" : "0");
        set(gpu ? "req_instances" : "cpu_req_instances", std::to_string(instances));
    }
    return text;
}

CaseReplay::Answer CaseReplay::answer(int n, std::uint64_t scan_seed, const UpstreamsRules& rules,
                                      const Jobs& jobs) const {
    std::string options = "<dont_generate_upload_certificates>1</dont_generate_upload_certificates>" + world_.options;
    if (rules.deadlines) {  // the caller looks at deadlines, and afterwards at other instances
        options += "<ignore_delay_bound>1</ignore_delay_bound>";
        for (const std::string who : {"user", "host"})
            if (const std::size_t at = options.find("<one_result_per_" + who); at != std::string::npos)
                options.erase(at, options.find('\n', at) - at);
    }
    RpcWorld rpc(options);
    rpc.db = world_.rows;
    if (rules.refreshed)
        for (auto& [id, version] : rpc.db.versions) version.min_core_version = 0;
    rpc.reload_tables();
    if (rpc.config.size_classes) rpc.tables.size_quantiles = world_.quantiles;
    rpc.rng = FixedRng(scan_seed);
    rpc.pool.slots = slots_;
    for (MemoryRpcPool::Slot& slot : rpc.pool.slots) {
        constexpr int kMoreThanAll = 1'000'000;
        if (jobs.without.contains(slot.job.result_id)) slot.state = SlotState::kEmpty;
        if (jobs.first.contains(slot.job.result_id)) slot.job.priority += kMoreThanAll;
    }
    Answer answer;
    answer.reply = rpc.send(request(n, rules)).text();
    answer.rows = std::move(rpc.db);
    return answer;
}

CaseDecision CaseReplay::decide(int n, std::uint64_t scan_seed) const { return decide(n, scan_seed, {}); }

CaseDecision CaseReplay::decide(int n, std::uint64_t scan_seed, const UpstreamsRules& rules) const {
    if (rules.deadlines) return decide_by_upstreams_deadlines(n, rules);
    const Answer a = answer(n, scan_seed, rules, {});
    return decision_of(a.reply, a.rows, n + 1, in_progress(world_.rows));
}

// In the order in which they were chosen.
std::vector<SentJob> CaseReplay::sent_jobs(int n, const Answer& answer) const {
    ReplyText reply;
    reply.run.out = answer.reply;
    std::map<std::string, const Result*> by_name;
    for (const auto& [id, r] : answer.rows.results) by_name[r.name] = &r;
    const bool hr_of_the_project = world_.options.find("<homogeneous_redundancy>") != std::string::npos;
    std::vector<SentJob> jobs;
    for (const std::string& name : reply.result_names()) {
        const Result& r = *by_name.at(name);
        const Workunit& wu = world_.rows.workunits.at(r.workunitid);
        SentJob& job = jobs.emplace_back();
        job.result = r.id;
        job.workunit = wu.id;
        job.version = r.app_version_id;
        job.bound = r.report_deadline - r.sent_time;
        job.last_bound = wu.delay_bound;
        job.runtime = runtime_of(world_.requests[static_cast<std::size_t>(n)], answer.reply, world_.rows, r);
        job.gpu = uses_gpu(world_.rows.versions.at(job.version));
        job.hard = world_.rows.apps.at(wu.appid).weight == -1 && !hr_of_the_project;
    }
    return jobs;
}

// Upstream asks the database for it when a job has passed all else.
bool CaseReplay::has_one_already(int n, const SentJob& job) const {
    const bool of_user = world_.options.find("<one_result_per_user") != std::string::npos;
    const bool of_host = world_.options.find("<one_result_per_host") != std::string::npos;
    const Host& host = world_.rows.hosts.at(n + 1);
    return std::any_of(world_.rows.results.begin(), world_.rows.results.end(), [&](const auto& row) {
        const Result& r = row.second;
        if (r.workunitid != job.workunit) return false;
        return of_user ? r.userid == host.userid : of_host && r.hostid == host.id;
    });
}

// We choose without a look at deadlines; the first job that upstream's rule refuses is taken away, and so on. What is
// refused for GPUs may be good for CPUs: when the jobs for GPUs stand firm, they are the first of all and the only ones
// that are wanted there, and the others are back.
CaseDecision CaseReplay::decide_by_upstreams_deadlines(int n, UpstreamsRules rules) const {
    const bool one_each = world_.options.find("<one_result_per_") != std::string::npos;
    UpstreamsDeadlineRule rule(world_.requests[static_cast<std::size_t>(n)], world_.rows.hosts.at(n + 1).total_credit);
    Jobs changed;
    std::set<Id> workunits;
    std::vector<std::int64_t> bounds;
    const auto goes_out = [&](const SentJob& job) {
        if (one_each && workunits.contains(job.workunit)) return false;
        const std::int64_t bound = rule.bound_of(job);
        if (bound == 0 || has_one_already(n, job)) return false;
        rule.add(job);
        workunits.insert(job.workunit);
        bounds.push_back(bound);
        return true;
    };
    for (bool gpus_stand = false;;) {
        Answer a = answer(n, 1, rules, changed);
        const std::vector<SentJob> sent = sent_jobs(n, a);
        while (bounds.size() < sent.size() && (gpus_stand || sent[bounds.size()].gpu) &&
               goes_out(sent[bounds.size()])) {
        }
        if (bounds.size() < sent.size() && (gpus_stand || sent[bounds.size()].gpu)) {
            changed.without.insert(sent[bounds.size()].result);
        } else if (!gpus_stand) {
            gpus_stand = true;
            rules.most_instances[true] = static_cast<int>(bounds.size());
            changed.without.clear();
            for (std::size_t i = 0; i < bounds.size(); ++i) changed.first.insert(sent[i].result);
        } else {
            for (std::size_t i = 0; i < sent.size(); ++i) {
                Result& r = a.rows.results[sent[i].result];
                r.report_deadline = r.sent_time + bounds[i];
            }
            return decision_of(a.reply, a.rows, n + 1, in_progress(world_.rows));
        }
    }
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
