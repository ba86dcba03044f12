// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/batches/batches.h"

#include <algorithm>
#include <utility>

#include "sluice/base/error.h"
#include "sluice/base/log.h"
#include "sluice/daemon/daemon.h"

namespace sluice {
namespace {

/// Heads log lines while a part has its turn.
class LogPart {
  public:
    explicit LogPart(const std::string& name) { log_set_part(name); }
    ~LogPart() { log_set_part(""); }
    LogPart(const LogPart&) = delete;
    LogPart& operator=(const LogPart&) = delete;
};

}  // namespace

void BatchesOfTurn::begin_turn() {
    in_progress_.reset();
    progress_.clear();
}

std::vector<Batch> BatchesOfTurn::in_progress(std::int64_t now) {
    if (!in_progress_) in_progress_ = store_.in_progress(now);
    return *in_progress_;
}

std::vector<BatchProgress> BatchesOfTurn::progress(std::span<const Id> batches) {
    std::vector<Id> missing;
    for (const Id id : batches)
        if (!progress_.contains(id)) missing.push_back(id);
    if (!missing.empty())
        for (const BatchProgress& p : store_.progress(missing)) progress_[p.batch] = p;
    std::vector<BatchProgress> all;
    for (const Id id : batches) all.push_back(progress_.at(id));
    return all;
}

std::int64_t BatchesOfTurn::write(std::span<const BatchChange> changes) {
    if (!changes.empty()) in_progress_.reset();
    return store_.write(changes);
}

void BufferedNotices::flush() {
    if (!reread_) return;
    notices_.reread_tables();
    reread_ = false;
}

namespace {

double shortest_interval(const std::vector<BatchPart>& parts) {
    double interval = 60;
    for (const BatchPart& part : parts) interval = std::min(interval, part.service.interval());
    return interval;
}

}  // namespace

BatchesService::BatchesService(std::vector<BatchPart> parts, BatchesOfTurn& batches, BufferedNotices& notices,
                               const Clock& clock, bool once, std::function<bool()> connected)
    : Service(shortest_interval(parts)),
      batches_(batches),
      notices_(notices),
      clock_(clock),
      once_(once),
      connected_(std::move(connected)) {
    for (BatchPart& part : parts) states_.push_back({.part = std::move(part)});
}

bool BatchesService::may_run(State& state) {
    if (!state.part.lock || state.held) return true;
    state.held = state.part.lock();
    if (!state.held && !state.said_busy)
        log_warning("another program does its work; stop that one, or take it out of config.xml: one is enough");
    if (state.held && state.said_busy) log_normal("the other program has ended, going on");
    state.said_busy = !state.held;
    return state.held.has_value();
}

/// It may have failed after a long wait for locks: the next wait begins now, else there would be none.
/// One wait in vain for a lock is no trouble: somebody worked on the row for a second.
void BatchesService::failed(State& state, const std::string& error, DbError::Kind kind) {
    failed_ = true;
    const bool temporary = kind != DbError::Kind::kOther && kind != DbError::Kind::kDuplicate;
    const double now = clock_.now();
    count_turn(state.part.name, TurnKind::kFailed, now, 0);
    const double wait = temporary ? state.wait.next() : std::max(state.part.service.interval(), 1.0);
    if (state.failures++ == 0 && kind == DbError::Kind::kRetry && !once_)
        log_debug("{}; trying again", error);
    else
        state.trouble.report({error, "trying again later; the other services go on"}, now);
    state.due = now + wait;
    state.part.life->fail_turn(error, wait);
}

void BatchesService::run(State& state, double now) {
    const LogPart head(state.part.name);
    try {
        state.due = now + state.part.service.interval();
        if (!may_run(state)) {
            state.part.life->end_turn(state.part.service.interval());
            return;
        }
        state.part.life->begin_turn();
        const double start = clock_.now();
        const Turn turn = state.part.service.turn();
        count_turn(state.part.name, kind_of(turn), clock_.now(), clock_.now() - start);
        state.trouble.over();
        state.wait.reset();
        state.failures = 0;
        if (turn.result == TurnResult::kWorked)
            state.due = now;
        else if (turn.result == TurnResult::kIdle)
            state.due = now + turn.wait;
        state.part.life->end_turn(state.due - now);
    } catch (const DbError& e) {
        if (e.kind() == DbError::Kind::kCantConnect && !connected_()) {
            state.due = now;
            // Its turn is over: a sign that says it goes on would be taken for a long one.
            state.part.life->fail_turn(e.what(), 0);
            if (state.part.lock_for_a_turn) state.held.reset();
            throw;
        }
        failed(state, e.what(), e.kind());
    } catch (const std::exception& e) {
        failed(state, e.what(), DbError::Kind::kOther);
    }
    if (state.part.lock_for_a_turn) state.held.reset();
}

Turn BatchesService::turn() {
    batches_.begin_turn();
    const double now = clock_.now();
    for (State& state : states_) {
        if (stop_requested()) break;
        // A clock that was set back makes everything due.
        if (state.due <= now || state.due > now + std::max(interval(), state.part.service.interval()) + 60)
            run(state, now);
    }
    notices_.flush();
    if (once_ && failed_) return {TurnResult::kFailed, 0};
    double next = now + interval();
    for (const State& state : states_) next = std::min(next, state.due);
    return {TurnResult::kIdle, std::max(next - clock_.now(), 0.0)};
}

}  // namespace sluice
