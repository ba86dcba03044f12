// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/handle/request_metrics.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sched/handle/rpc.h"
#include "sluice/base/metrics.h"
#include "sluice/match/policies.h"

namespace sluice {
namespace {

ClientRequest kind_of(const Rpc& rpc) {
    if (rpc.decision.search == Search::kBadRequest) return ClientRequest::kUnreadable;
    if (rpc.screening.wants_work || wants_work(rpc.config, rpc.request, rpc.services.tables))
        return ClientRequest::kWork;
    return rpc.request.results.empty() ? ClientRequest::kContact : ClientRequest::kReport;
}

RequestOutcome outcome_of(const Rpc& rpc, ClientRequest kind) {
    const Search search = rpc.decision.search;
    if (!rpc.reply.jobs.empty()) return RequestOutcome::kJobs;
    if (search == Search::kDatabaseDown || search == Search::kDatabaseFailed) return RequestOutcome::kUnavailable;
    // The shortcut for an empty array answers with a message alone, too, but serves the request.
    if (rpc.reply.extent == ReplyExtent::kNucleus && search != Search::kArrayEmpty) return RequestOutcome::kRefused;
    return kind == ClientRequest::kWork ? RequestOutcome::kNoJobs : RequestOutcome::kServed;
}

void count_outcome(ClientRequest kind, RequestOutcome outcome) {
    count_metric(Metric::kRequests, {static_cast<std::uint32_t>(kind), static_cast<std::uint16_t>(outcome)});
}

void count_jobs(const Rpc& rpc) {
    for (const OutgoingJob& job : rpc.decision.jobs) {
        const Chosen& c = job.chosen;
        const int origin = job.origin == OutgoingJob::Origin::kPool     ? 0
                           : job.origin == OutgoingJob::Origin::kResend ? 1
                                                                        : 2;
        count_metric(Metric::kJobsSent, {c.app != nullptr ? static_cast<std::uint32_t>(c.app->id) : 0,
                                         static_cast<std::uint16_t>(std::clamp<int>(c.job.size_class, 0, 255)),
                                         resource_and_origin(static_cast<int>(c.version.usage.proc_type), origin)});
    }
}

void count_refusals(const MatchStats& stats, bool any_sent) {
    for (std::size_t i = 1; i < stats.reasons.size(); ++i) {
        const auto reason = static_cast<Reason>(i);
        if (stats.reasons[i].count == 0 || !is_refusal(reason)) continue;
        count_metric(Metric::kRefusals, {metric_label(reason_name(reason))}, stats.reasons[i].count);
    }
    count_metric(Metric::kClaimsLost, {}, stats.claims_lost);
    count_metric(Metric::kJobsLost, {}, stats.reasons[static_cast<std::size_t>(Reason::kRaceLost)].count);
    if (any_sent) return;
    const std::vector<Reason> order = binding_order(stats);
    if (!order.empty() && is_refusal(order.front()))
        count_metric(Metric::kBinding, {metric_label(reason_name(order.front()))});
}

}  // namespace

void count_request(const Rpc& rpc) {
    const ClientRequest kind = kind_of(rpc);
    const RequestOutcome outcome = outcome_of(rpc, kind);
    count_outcome(kind, outcome);
    if (kind == ClientRequest::kWork)
        count_metric(Metric::kSearches, {metric_label(search_info(rpc.decision.search).name)});
    if (outcome == RequestOutcome::kRefused || outcome == RequestOutcome::kUnavailable) return;
    count_jobs(rpc);
    count_refusals(rpc.decision.stats, outcome == RequestOutcome::kJobs);
    for (const ReportWrite& result : rpc.writes.reports.results)
        count_metric(Metric::kReported, {static_cast<std::uint32_t>(result.outcome)});
}

void count_unavailable() { count_outcome(ClientRequest::kUnreadable, RequestOutcome::kUnavailable); }

}  // namespace sluice
