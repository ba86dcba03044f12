// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/handle/work_session.h"

#include <string_view>

#include "sched/handle/host_facts.h"
#include "sched/handle/outgoing_jobs.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/text.h"

namespace sluice {
namespace {

constexpr std::size_t kMostLines = 2000;

}  // namespace

DebugTrace::DebugTrace(const ProjectConfig& c, const RpcLog& log)
    : config_(c),
      log_(log),
      wanted_(c.debug_send_job || c.debug_version_select || c.debug_keyword || c.debug_locality_lite ||
              c.debug_edf_sim_detail),
      candidates_(TraceLines::Style::kLog, kMostLines) {}

void DebugTrace::row(const TraceRow& row) {
    if (config_.debug_send_job) candidates_.row(row);
    if (config_.debug_version_select) versions(row);
    if (config_.debug_keyword || config_.debug_locality_lite) terms(row);
    if (config_.debug_edf_sim_detail) deadline(row);
}

/// Once for each app and resource: what was chosen, or why nothing.
void DebugTrace::versions(const TraceRow& row) {
    if (row.app == nullptr || !apps_told_.emplace(row.app->id, row.resource).second) return;
    if (row.version == nullptr || !row.version->found) {
        log_.normal("[version] no app version available: APP#{} ({}) resource {}: {}", row.app->id, row.app->name,
                    proc_type_name(row.resource), reason_name(row.verdict.reason));
        return;
    }
    const AppChoice& v = *row.version;
    log_.normal("[version] Best version of app {} is [AV#{}] ({:.2f} GFLOPS) version {} plan class '{}' platform {}{}",
                row.app->name, v.app_version_id, v.usage.projected_flops / 1e9, v.version_num, v.plan_class, v.platform,
                v.speed_is_guess ? ", speed is a guess" : "");
}

void DebugTrace::terms(const TraceRow& row) const {
    for (const TraceRow::Term& t : row.terms) {
        if (config_.debug_keyword && t.name == std::string_view("keyword"))
            log_.normal("[keyword] [RESULT#{}] keyword score {:f}", row.job->result_id, t.weight * t.value);
        if (config_.debug_locality_lite && t.name == std::string_view("locality_lite"))
            log_.normal("[loc_lite] [RESULT#{}] {}", row.job->result_id,
                        t.value > 0 ? "an input file is on the host" : "no input file is on the host");
    }
}

void DebugTrace::deadline(const TraceRow& row) const {
    const Reason r = row.fate;
    if (r == Reason::kDeadline || r == Reason::kDeadlineOthers)
        log_.normal("[edf_detail] [RESULT#{}] {}: {:.0f} s needed, {:.0f} s allowed", row.job->result_id,
                    r == Reason::kDeadline ? "would miss its deadline" : "would make another job miss its deadline",
                    row.verdict.value, row.verdict.required);
    else if (r == Reason::kFeasible)
        log_.normal("[edf_detail] [RESULT#{}] is in time", row.job->result_id);
}

void DebugTrace::log_candidates() const {
    for (const std::string& line : candidates_.lines()) log_.normal("[send_job] {}", line);
    if (candidates_.dropped() > 0) log_.normal("[send_job] {} more lines were left out", candidates_.dropped());
}

void log_client_files(const ProjectConfig& c, Id hostid, const std::vector<StickyFile>& files, const RpcLog& log) {
    for (const StickyFile& file : files) {
        if (c.debug_client_files)
            log.normal("[client_files] [HOST#{}] has file {} ({:.0f} bytes{})", hostid, file.name, file.nbytes,
                       file.sticky ? ", sticky" : "");
        if (c.debug_locality) log.normal("[locality] [HOST#{}] has file {}", hostid, file.name);
    }
    if (c.debug_vda)
        log.normal("[vda] [HOST#{}] reports {} files; clients are not used as archives", hostid, files.size());
}

void log_workload(const ProjectConfig& c, const HostFacts& host, const RpcLog& log) {
    if (!c.debug_edf_sim_workload) return;
    log.normal("[edf_workload] [HOST#{}] {} jobs; {}", host.row.id, host.in_progress.size(),
               host.workload_known ? "simulated" : "the client did not list them");
    for (const JobOnHost& job : host.in_progress)
        log.normal("[edf_workload] {}: deadline {:.0f}, {:.0f} s to go on {:.2f} {}", job.result_name, job.deadline,
                   job.remaining, job.gpu_usage > 0 ? job.gpu_usage : job.ncpus, proc_type_name(job.proc_type));
}

namespace {

std::unordered_set<int> numbers_of(std::string_view line) {
    std::unordered_set<int> numbers;
    for (const std::string_view word : split(line, ' '))
        if (const auto n = parse_int(word); n && !trim(word).empty()) numbers.insert(static_cast<int>(*n));
    return numbers;
}

/// What the volunteer's keywords are: of the request, else of PROJECT/kw_prefs/USERID.
void read_keywords(const Rpc& rpc, UserFacts& user) {
    if (!rpc.config.keyword_sched) return;
    if (rpc.request.has_user_keywords) {
        user.keywords_yes.insert(rpc.request.keywords_yes.begin(), rpc.request.keywords_yes.end());
        user.keywords_no.insert(rpc.request.keywords_no.begin(), rpc.request.keywords_no.end());
        return;
    }
    const fs::path file = fs::path(rpc.config.project_dir) / "kw_prefs" / std::to_string(rpc.who.account.user.id);
    try {
        const auto text = read_file(file, 64 << 10);
        if (!text) return;
        const auto lines = split(*text, '\n');
        if (!lines.empty()) user.keywords_yes = numbers_of(lines[0]);
        if (lines.size() > 1) user.keywords_no = numbers_of(lines[1]);
    } catch (const FileError& e) {
        rpc.log.warning("{}", e.what());
    }
}

/// More than all lost jobs of a host can take: one that was "not needed" would be timed out.
constexpr double kAnyAmount = 1e15;

}  // namespace

std::vector<WorkunitFacts> StoredFacts::load(std::span<const JobSummary> jobs) {
    FactsQuery query;
    query.userid = rpc_.who.account.user.id;
    query.hostid = rpc_.rows.host.id;
    query.count_user = rpc_.config.one_result_per_user_per_wu;
    query.count_host = rpc_.config.one_result_per_host_per_wu && !rpc_.rows.is_new();
    for (const JobSummary& job : jobs) query.results.push_back(job.result_id);
    return rpc_.services.stores.results.facts(query);
}

Verdict StoredFacts::can_be_written(const Chosen& job) {
    const auto planned = prepare_pool_job(rpc_, job);
    return planned ? sluice::can_be_written(rpc_, *planned) : refuse(Reason::kClaimLost);
}

WorkSession::WorkSession(const Rpc& rpc, bool for_lost_jobs_only)
    : user_(rpc.prefs.user), facts_(rpc), trace_(rpc.config, rpc.log) {
    read_keywords(rpc, user_);
    host_ = host_facts(rpc);
    wanted_ = work_request(rpc);
    if (for_lost_jobs_only) {
        wanted_.resource_specific = true;
        wanted_.seconds.fill(kAnyAmount);
    }
    log_workload(rpc.config, host_, rpc.log);
    const RpcServices& s = rpc.services;
    context_ = std::unique_ptr<MatchContext>(new MatchContext{host_, user_, wanted_, s.tables, s.params,
                                                              s.files.plan_classes, &s.files.buda, rpc.now, s.env.rng});
    Trace* const trace = s.trace != nullptr ? s.trace : trace_.wanted() ? &trace_ : nullptr;
    matcher_ = std::make_unique<Matcher>(*context_, *rpc.pool, facts_, trace);
}
WorkSession::~WorkSession() = default;

}  // namespace sluice
