// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/handle/rpc.h"

#include "sched/match/planned_batch.h"

namespace sluice {

SlotState WidePool::read(std::uint32_t index, JobSummary& job, SlotRef& ref) const {
    if (index < array_.size()) return array_.read(index, job, ref);
    const Job& own = jobs_[index - array_.size()];
    job = own.job;
    ref = {index, 0, 1};
    return own.state;
}

bool WidePool::claim(const SlotRef& ref) {
    Job* const job = own(ref);
    if (job == nullptr) return array_.claim(ref);
    if (job->state != SlotState::kPresent) return false;
    job->state = SlotState::kClaimed;
    return true;
}

void WidePool::release(const SlotRef& ref) {
    if (Job* const job = own(ref))
        job->state = SlotState::kPresent;
    else
        array_.release(ref);
}

void WidePool::discard(const SlotRef& ref) {
    if (Job* const job = own(ref))
        job->state = SlotState::kEmpty;
    else
        array_.discard(ref);
}

void WidePool::consume(const SlotRef& ref) {
    if (Job* const job = own(ref))
        job->state = SlotState::kEmpty;
    else
        array_.consume(ref);
}

std::optional<std::string> WidePool::workunit_xml(const SlotRef& ref) const {
    const Job* const job = own(ref);
    return job != nullptr ? job->doc.wu_xml : array_.workunit_xml(ref);
}

std::string WidePool::keywords(const SlotRef& ref) const {
    const Job* const job = own(ref);
    return job != nullptr ? job->doc.keywords : array_.keywords(ref);
}

std::optional<SlotDoc> WidePool::document(const SlotRef& ref) const {
    const Job* const job = own(ref);
    if (job == nullptr) return array_.document(ref);
    return job->state == SlotState::kClaimed ? std::optional(job->doc) : std::nullopt;
}

void WidePool::note_infeasible(const SlotRef& ref) {
    if (own(ref) == nullptr) array_.note_infeasible(ref);
}

void WidePool::note_passed_over(const SlotRef& ref) {
    if (own(ref) == nullptr) array_.note_passed_over(ref);
}

namespace {

struct StageRow {
    Stage (*run)(Rpc&);
    bool in_dry_run;
    Search ended = Search::kUnknownAccount;  ///< why no jobs were looked for, if this stage ends the RPC
};
constexpr StageRow kStages[] = {
    {[](Rpc& r) { return authenticate(r, r.who, r.rows, r.reply); }, true},
    {[](Rpc& r) { return lock_host(r, r.host_lock, r.reply); }, false, Search::kHostBusy},
    {[](Rpc& r) { return find_platforms(r, r.rows, r.reply); }, true},
    {[](Rpc& r) { return read_host(r, r.rows, r.writes); }, true},
    {[](Rpc& r) { return update_host(r, r.rows); }, true},
    {[](Rpc& r) { return apply_preferences(r, r.prefs, r.writes, r.reply); }, true},
    {[](Rpc& r) { return record_results(r, r.rows, r.writes, r.reply); }, true},
    {[](Rpc& r) { return hand_out_work(r, r.decision, r.writes, r.reply); }, true},
    {[](Rpc& r) { return exchange_messages(r, r.rows, r.writes, r.reply); }, false},
};

}  // namespace

Stage run_stages(Rpc& rpc, bool dry_run) {
    for (const StageRow& stage : kStages) {
        if ((dry_run && !stage.in_dry_run) || stage.run(rpc) == Stage::kContinue) continue;
        const bool banned = rpc.rows.stored.max_results_day == -1 && stage.ended == Search::kUnknownAccount;
        rpc.decision.search = banned ? Search::kHostBanned : stage.ended;
        return Stage::kReply;
    }
    return Stage::kContinue;
}

std::int64_t day_offset(Id id) {
    const std::uint64_t x = static_cast<std::uint64_t>(id) * 0x9E3779B97F4A7C15ull;
    return static_cast<std::int64_t>((x ^ (x >> 31)) % kDay);
}

Rpc::Rpc(RpcServices& s, const SchedulerRequest& r, const Screening& sc, bool again)
    : services(s),
      log(s.log),
      config(s.config),
      request(r),
      screening(sc),
      overtaken(again),
      now(s.env.clock.now()),
      now_sec(s.env.clock.now_sec()),
      pool(std::make_unique<WidePool>(s.pool)) {
    who.rpc_seqno = r.rpc_seqno;
    reply.client_version = r.client_version();
    reply.master_url = config.master_url;
    reply.project_name = config.long_name;
    reply.ended = config.ended;
    reply.min_sendwork_interval = config.min_sendwork_interval;
    reply.messages = sc.messages;
    reply.request_delay = sc.delay;
    reply.send_full_workload = config.workload_sim;
}

const KnownResult* HostRows::known_result(const std::string& name) const {
    const auto it = known_by_name.find(name);
    return it == known_by_name.end() ? nullptr : &known[it->second];
}

HostAppVersion* HostRows::version_row(Id generalized_id) {
    for (HostAppVersion& v : versions)
        if (v.app_version_id == generalized_id) return &v;
    return nullptr;
}

const PlannedBatch* plan_of_batch(const Rpc& rpc, Id batch) {
    return match::binding_plan(rpc.services.params, rpc.services.tables, batch, rpc.now);
}

bool may_send_work(const Rpc& rpc) { return rpc.screening.may_send_work() && !rpc.rows.platforms.empty(); }

Stage refuse(SchedulerReply& reply, ReplyMessage message, double seconds) {
    reply.say(std::move(message));
    reply.delay(seconds);
    reply.extent = ReplyExtent::kNucleus;
    return Stage::kReply;
}

void log_request_line(const Rpc& rpc) {
    const SchedulerRequest& r = rpc.request;
    rpc.log.normal("Request: [USER#{}] [HOST#{}] [IP {}] client {}.{}.{}", rpc.who.account.user.id, rpc.rows.host.id,
                   rpc.services.remote_address, r.core_major, r.core_minor, r.core_release);
}

}  // namespace sluice
