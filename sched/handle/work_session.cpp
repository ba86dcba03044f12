// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/handle/work_session.h"

#include "sched/handle/host_facts.h"
#include "sched/handle/planned_jobs.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/text.h"

namespace sluice {
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
    const auto planned = plan_pool_job(rpc_, job);
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
