// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/shadow/what_if.h"

#include <fmt/format.h>

#include "sched/handle/screen_client.h"
#include "sched/shadow/progress_line.h"

namespace sluice {
namespace {

/// Their jobs need not be the same ones, for both had the same to choose from: what kinds they are decides.
ComparedRpc decide_twice(PastDecider& a, PastDecider& b, const RecordedRpc& rpc, std::uint64_t seed) {
    ComparedRpc c;
    c.at = rpc.at;
    c.file = rpc.file;
    c.hostid = rpc.request.hostid;
    c.wants_work = wants_work(b.project().config, rpc.request, *b.project().tables);
    c.host_class = host_class_of(rpc.request);
    const DryDecision by_a = a.decide(rpc.request, seed), by_b = b.decide(rpc.request, seed);
    c.theirs = a.outcome_of(by_a);
    c.ours = b.outcome_of(by_b);
    c.ms = by_b.seconds * 1000;
    c.same = c.theirs.kinds == c.ours.kinds && c.theirs.word == c.ours.word;
    return c;
}

}  // namespace

Comparison compare_configurations(LiveProject& a, LiveProject& b, const std::vector<RpcFile>& files,
                                  const ComparisonOptions& options) {
    const RequestLimits limits = request_limits(a.config);
    const std::vector<JobSentThen> sent = jobs_sent_by(files, limits);
    PastDecider by_a(a, sent), by_b(b, sent);
    ComparisonSum sum(options);
    Comparison& c = sum.result();
    c.level = b.config.compat_level;
    c.jobs_from = by_a.past().origin();
    std::string why;
    ProgressLine progress;
    for (std::size_t i = 0; i < files.size(); ++i) {
        progress.say([&] { return fmt::format("{} of {} requests", i, files.size()); });
        ++c.requests;
        const auto rpc = read_rpc(files[i], limits, why);
        if (!rpc) {
            if (c.unreadable++ == 0) c.notes.push_back(why);
            continue;
        }
        by_a.move_to(i, *rpc);
        by_b.move_to(i, *rpc);
        sum.add(decide_twice(by_a, by_b, *rpc, options.seed + 1000 * i));
    }
    return sum.take();
}

}  // namespace sluice
