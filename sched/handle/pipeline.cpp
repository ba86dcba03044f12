// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/handle/pipeline.h"

#include <chrono>
#include <cmath>

#include "sched/handle/decision_log.h"
#include "sched/handle/dispatch.h"
#include "sched/handle/finish_reply.h"
#include "sched/handle/request_metrics.h"
#include "sched/handle/rpc.h"
#include "sched/rpc/messages.h"
#include "sluice/base/error.h"
#include "sluice/base/metrics.h"

namespace sluice {
namespace {

constexpr double kTooLongDelay = 3600;
constexpr int kDecisions = 4;  ///< a decision that was overtaken is made anew, at most this often in all

/// Claims never outlive a decision.
struct ClaimsGuard {
    RpcJobPool& pool;
    ~ClaimsGuard() { pool.release_all(); }
};

void log_messages(const Rpc& rpc) {
    if (!rpc.config.debug_user_messages) return;
    for (const ReplyMessage& m : rpc.reply.messages)
        rpc.log.normal("[user_messages] [HOST#{}] MSG({}) {}", rpc.rows.host.id, m.notice ? "notice" : "low", m.text);
}

/// nullopt: overtaken by another process.
std::optional<SchedulerReply> decide_once(RpcServices& services, const SchedulerRequest& request,
                                          const Screening& screening, bool overtaken) {
    Rpc rpc(services, request, screening, overtaken);
    ClaimsGuard guard{services.pool};
    const Stage next = run_stages(rpc);
    if (next == Stage::kContinue) {
        if (commit(rpc) == CommitOutcome::kDecideAgain) return std::nullopt;
        if (rpc.rows.is_new()) log_request_line(rpc);
        finish_reply(rpc, rpc.decision, rpc.reply);
    }
    log_messages(rpc);
    if (next == Stage::kContinue)
        rpc.log.normal("Sending reply to [HOST#{}]: {} results, delay req {:.2f}", rpc.rows.host.id,
                       rpc.reply.jobs.size(), delay_to_send(rpc.reply));
    count_request(rpc);
    log_decision(rpc);
    return std::move(rpc.reply);
}

SchedulerReply nucleus(RpcServices& services, const SchedulerRequest& request, const Screening& screening, Search why) {
    Rpc rpc(services, request, screening);
    rpc.reply.extent = ReplyExtent::kNucleus;
    rpc.decision.search = why;
    log_messages(rpc);
    count_request(rpc);
    log_decision(rpc);
    return std::move(rpc.reply);
}

SchedulerReply database_is_down(RpcServices& services, const SchedulerRequest& request, const Screening& screening,
                                const DbError& why) {
    // The codes: of a COMMIT whose fate could not be asked after, as there was no connection any more.
    const bool unreachable = why.kind() == DbError::Kind::kCantConnect || why.code() == 2002 || why.code() == 2003;
    Rpc rpc(services, request, screening);
    refuse(rpc.reply, unreachable ? messages::cant_open_database() : messages::database_failed(),
           delay_while_down(services.config, services.env.rng));
    rpc.reply.project_is_down = true;
    rpc.decision.search = unreachable ? Search::kDatabaseDown : Search::kDatabaseFailed;
    count_request(rpc);
    log_decision(rpc);
    return std::move(rpc.reply);
}

SchedulerReply host_is_busy(RpcServices& services, const SchedulerRequest& request, const Screening& screening) {
    Rpc rpc(services, request, screening);
    services.log.critical("[HOST#{}] gave up after {} decisions: others were quicker each time, or held locks",
                          request.hostid, kDecisions);
    refuse(rpc.reply, messages::another_instance(), 60);
    rpc.decision.search = Search::kHostBusy;
    count_request(rpc);
    log_decision(rpc);
    return std::move(rpc.reply);
}

/// Worth another try on a new connection, or after a deadlock that its own retries did not get over?
bool is_temporary(const DbError& e) { return e.kind() == DbError::Kind::kLost || e.kind() == DbError::Kind::kRetry; }

/// Who holds the lock may go on holding it: meanwhile other hosts can have the jobs that this request had claimed.
void leave_to_others(const RpcServices& services, int decision) {
    if (services.wait) services.wait(1.0 + decision);
}

SchedulerReply decide(RpcServices& services, const SchedulerRequest& request, const Screening& screening) {
    for (int decision = 1;; ++decision) {
        if (decision > 1) count_metric(Metric::kRepeatedDecisions);
        try {
            if (auto reply = decide_once(services, request, screening, decision > 1)) return std::move(*reply);
            if (decision == kDecisions) return host_is_busy(services, request, screening);
        } catch (const DbError& e) {
            services.log.critical("[HOST#{}] {}", request.hostid, e.what());
            if (is_temporary(e) && decision < kDecisions) {
                if (e.kind() == DbError::Kind::kRetry) leave_to_others(services, decision);
                continue;
            }
            // Locks that others hold are no reason to send a client away for an hour.
            return e.kind() == DbError::Kind::kRetry ? host_is_busy(services, request, screening)
                                                     : database_is_down(services, request, screening, e);
        }
    }
}

/// Whose account is known learns that it is too long; the others, that they have none.
SchedulerReply refuse_incomplete(RpcServices& services, const SchedulerRequest& request, const Screening& screening) {
    try {
        Rpc rpc(services, request, screening);
        if (authenticate(rpc, rpc.who, rpc.rows, rpc.reply) == Stage::kContinue)
            refuse(rpc.reply, messages::bad_request("request too large"), kTooLongDelay);
        rpc.decision.search = Search::kBadRequest;
        log_messages(rpc);
        count_request(rpc);
        return std::move(rpc.reply);
    } catch (const DbError& e) {
        services.log.critical("[HOST#{}] {}", request.hostid, e.what());
        return database_is_down(services, request, screening, e);
    }
}

/// `whole` false: see RequestText.
SchedulerReply answer(RpcServices& services, const SchedulerRequest& request, bool whole) {
    const Screening screening = screen_client(services, request);
    if (screening.finished) return nucleus(services, request, screening, ended_by_screening(screening));
    return whole ? decide(services, request, screening) : refuse_incomplete(services, request, screening);
}

SchedulerReply answer(RpcServices& services, const RequestText& text) {
    const ParsedRequest parsed = parse_request(text.text, services.limits, text.forget_beginning);
    if (text.forget) text.forget();
    if (!parsed.request) {
        services.log.normal("Incomplete request received from IP {}: {}", services.remote_address, parsed.error);
        Screening nothing;
        nothing.messages.push_back(messages::bad_request(parsed.error));
        return nucleus(services, SchedulerRequest{}, nothing, Search::kBadRequest);
    }
    for (const std::string& tag : parsed.request->unknown_tags)
        services.log.debug("unrecognized tag in request: {}", tag);
    return answer(services, *parsed.request, text.whole);
}

}  // namespace

double delay_while_down(const ProjectConfig& config, Rng& rng) {
    constexpr double kLeast = 120, kMost = 600;
    if (config.compat_level <= 0 || config.maintenance_delay > 0) return config.maintenance_delay;
    return std::floor(kLeast + rng.uniform() * (kMost - kLeast));
}

std::string come_back_later(const ProjectConfig& config, const std::string& message, double delay) {
    return write_early_reply(message, delay, config.ended);
}

SchedulerReply handle_request(RpcServices& services, const SchedulerRequest& request) {
    return answer(services, request, true);
}

std::string handle_rpc(RpcServices& services, const RequestText& text) {
    const auto start = std::chrono::steady_clock::now();
    const auto seconds = [&] {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    };
    try {
        std::string reply = write_reply(answer(services, text));
        const double took = seconds();
        observe_metric(Metric::kRequestSeconds, {}, took);
        services.log.normal("Scheduler ran {:.3f} seconds", took);
        return reply;
    } catch (const std::exception& e) {
        services.log.critical("request from {} not handled: {}", services.remote_address, e.what());
        observe_metric(Metric::kRequestSeconds, {}, seconds());
        count_unavailable();
        return come_back_later(services.config, "Server error: try again later",
                               delay_while_down(services.config, services.env.rng));
    }
}

}  // namespace sluice
