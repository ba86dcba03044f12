#include "rpc.h"

#include <algorithm>

#include "sluice/base/log.h"

namespace sluice {
namespace {

struct StageRow {
    Stage (*run)(Rpc&);
    bool in_dry_run;
};
constexpr StageRow kStages[] = {{authenticate, true},      {lock_host, false},     {read_host, true},
                                {update_host, true},       {record_results, true}, {hand_out_work, true},
                                {exchange_messages, false}};

}  // namespace

Stage run_stages(Rpc& rpc, bool dry_run) {
    for (const StageRow& stage : kStages) {
        if ((dry_run && !stage.in_dry_run) || stage.run(rpc) == Stage::kContinue) continue;
        rpc.decision.search = stage.run == lock_host ? Search::kHostBusy : ended_by_account(rpc);
        return Stage::kReply;
    }
    return Stage::kContinue;
}

std::int64_t day_offset(Id id) {
    const std::uint64_t x = static_cast<std::uint64_t>(id) * 0x9E3779B97F4A7C15ull;
    return static_cast<std::int64_t>((x ^ (x >> 31)) % kDay);
}

Rpc::Rpc(RpcServices& s, const SchedulerRequest& r, const Screening& sc)
    : services(s), config(s.config), request(r), screening(sc), now(s.env.clock.now()), now_sec(s.env.clock.now_sec()) {
    reply.client_version = r.client_version();
    reply.master_url = config.master_url;
    reply.project_name = config.long_name;
    reply.ended = config.ended;
    reply.min_sendwork_interval = config.min_sendwork_interval;
    reply.messages = sc.messages;
    reply.request_delay = sc.delay;
    reply.send_full_workload = config.workload_sim;
    may_send_work = sc.may_send_work();
    rpc_seqno = r.rpc_seqno;
}

const KnownResult* Rpc::known_result(const std::string& name) const {
    const auto it = known_by_name.find(name);
    return it == known_by_name.end() ? nullptr : &known[it->second];
}

void Rpc::delay(double seconds) {
    constexpr double kLongest = 172800;
    reply.request_delay = std::min(std::max(reply.request_delay, seconds), kLongest);
}

Stage Rpc::refuse(ReplyMessage message, double seconds) {
    say(std::move(message));
    delay(seconds);
    reply.extent = ReplyExtent::kNucleus;
    return Stage::kReply;
}

void log_request_line(const Rpc& rpc) {
    const SchedulerRequest& r = rpc.request;
    log_normal("Request: [USER#{}] [HOST#{}] [IP {}] client {}.{}.{}", rpc.account.user.id, rpc.host.id,
               rpc.services.remote_address, r.core_major, r.core_minor, r.core_release);
}

HostAppVersion* Rpc::version_row(Id generalized_id) {
    for (HostAppVersion& v : versions)
        if (v.app_version_id == generalized_id) return &v;
    return nullptr;
}

}  // namespace sluice
