// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/shadow/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "sched/handle/screen_client.h"
#include "sched/shadow/known_differences.h"
#include "sched/shadow/progress_line.h"
#include "sluice/match/policies.h"
#include "sluice/match/reasons.h"

namespace sluice {
namespace {

constexpr int kHour = 3600;
/// Where a scan starts is random: a decision that differs is made this often from other slots on.
constexpr int kOtherStarts = 4;
constexpr std::size_t kMostHours = 24 * 400;

constexpr std::string_view kResent = "Resent lost task ";

/// A reply names those that it sends a second time.
std::set<std::string> resent_names(const TheirReply& reply) {
    std::set<std::string> names;
    for (const std::string& m : reply.messages)
        if (m.starts_with(kResent)) names.insert(m.substr(kResent.size()));
    return names;
}

std::string joined(const std::vector<std::string>& parts) {
    std::string text;
    for (const std::string& part : parts) text += (text.empty() ? "" : "; ") + part;
    return text;
}

/// What two outcomes with jobs have to do with each other, in ours' word.
std::string sent_word(const RpcOutcome& theirs, const RpcOutcome& ours) {
    if (ours.jobs() > theirs.jobs()) return "sent_more";
    return ours.jobs() < theirs.jobs() ? "sent_fewer" : "sent_others";
}

/// The same jobs, or the same word to a volunteer who gets none. Where they told no reason, "no job" is all there is to
/// compare.
bool same_outcome(const RpcOutcome& theirs, const RpcOutcome& ours, const TheirReply& reply,
                  const DryDecision& decision) {
    if (theirs.kinds != ours.kinds) return false;
    if (theirs.word == ours.word || !ours.kinds.empty()) return true;
    const std::set<std::string> they_told = told_reasons(reply.messages), we_tell = told_reasons(decision.messages);
    if (they_told.empty()) return true;
    if (they_told.contains(ours.word)) return true;
    return std::any_of(we_tell.begin(), we_tell.end(), [&](const std::string& r) { return they_told.contains(r); });
}

}  // namespace

int RpcOutcome::jobs() const {
    int n = 0;
    for (const auto& [kind, count] : kinds) n += count;
    return n;
}

std::string host_class_of(const SchedulerRequest& request) {
    int low = 1;
    while (low * 2 <= std::max(request.host.p_ncpus, 1)) low *= 2;
    std::string name = request.platform_name.substr(0, 60);
    name += low == 1 ? ", 1 CPU" : fmt::format(", {}-{} CPUs", low, 2 * low - 1);
    for (const Coproc& c : request.coprocs) name += std::string(", ") + proc_type_name(c.proc_type);
    return name;
}

RpcOutcome outcome_of(const TheirReply& reply, bool wants_work) {
    RpcOutcome outcome;
    const std::set<std::string> again = resent_names(reply);
    for (const TheirJob& job : reply.jobs)
        if (!again.contains(job.result)) ++outcome.kinds[kind_of_jobs(job.app, job.plan_class)];
    const std::string told = main_reason(told_reasons(reply.messages));
    outcome.word = !outcome.kinds.empty() ? "sent"
                   : !again.empty()       ? "lost_jobs_resent"
                   : !told.empty()        ? told
                   : wants_work           ? "no_reason_told"
                                          : "not_asked";
    return outcome;
}

DryDecision PastDecider::decide(const SchedulerRequest& request, std::uint64_t seed) {
    const auto rng = make_seeded_rng(seed);
    past_.pool().release_all();
    RpcServices services{project_.config, project_.files, project_.params,          *project_.tables,
                         past_.pool(),    past_.stores(), Env{past_.clock(), *rng}, request_limits(project_.config)};
    services.ignore_seqno = true;
    DryDecision decision = dry_decision(services, request);
    past_.pool().release_all();
    return decision;
}

RpcOutcome PastDecider::outcome_of(const DryDecision& decision) const {
    RpcOutcome outcome;
    for (const DryDecision::Job& job : decision.jobs) {
        const App* app = project_.tables->app(job.app);
        ++outcome.kinds[kind_of_jobs(app != nullptr ? app->name : fmt::format("app {}", job.app), job.plan_class)];
    }
    const std::vector<Reason> order = binding_order(decision.stats);
    if (!outcome.kinds.empty())
        outcome.word = "sent";
    else if (!decision.resent.empty())
        outcome.word = search_info(Search::kLostJobsResent).name;
    else if (decision.search != Search::kDone)
        outcome.word = search_info(decision.search).name;
    else
        outcome.word = !order.empty() && is_refusal(order.front()) ? reason_name(order.front()) : "nothing_left";
    return outcome;
}

std::vector<JobSentThen> jobs_sent_by(const std::vector<RpcFile>& files, const RequestLimits& limits) {
    std::vector<JobSentThen> sent;
    std::string why;
    ProgressLine progress;
    for (std::size_t i = 0; i < files.size(); ++i) {
        progress.say([&] { return fmt::format("replies: {} of {} read", i, files.size()); });
        const auto rpc = read_rpc(files[i], limits, why);
        if (!rpc || !rpc->reply) continue;
        const std::vector<JobSentThen> of_this = jobs_sent_by(*rpc->reply, i);
        sent.insert(sent.end(), of_this.begin(), of_this.end());
    }
    return sent;
}

std::vector<JobSentThen> jobs_sent_by(const TheirReply& reply, std::size_t request) {
    std::vector<JobSentThen> sent;
    const std::set<std::string> again = resent_names(reply);
    for (const TheirJob& job : reply.jobs)
        if (!again.contains(job.result)) sent.push_back({job.result, request});
    return sent;
}

void SideCount::add(const ComparedRpc& rpc, const RpcOutcome& outcome) {
    const int n = outcome.jobs();
    jobs += n;
    if (n > 0)
        ++requests_with_jobs;
    else if (rpc.wants_work)
        ++empty[outcome.word];
    for (const auto& [kind, count] : outcome.kinds) by_app[kind] += count;
    if (n > 0) by_class[rpc.host_class] += n;
}

void ComparisonSum::add(const ComparedRpc& rpc) {
    Comparison& c = result_;
    if (c.compared == 0) c.first = rpc.at;
    c.last = rpc.at;
    ++c.compared;
    c.ms.push_back(rpc.ms);
    c.theirs.add(rpc, rpc.theirs);
    c.ours.add(rpc, rpc.ours);
    if (c.jobs_by_time.size() < kMostHours) {
        auto& [theirs, ours] = c.jobs_by_time[static_cast<std::int64_t>(rpc.at) / kHour * kHour];
        theirs += rpc.theirs.jobs();
        ours += rpc.ours.jobs();
    }
    if (rpc.same) {
        ++c.same;
        return;
    }
    const bool both = !rpc.theirs.kinds.empty() && !rpc.ours.kinds.empty();
    const std::string ours = both ? sent_word(rpc.theirs, rpc.ours) : rpc.ours.word;
    DifferenceGroup& group = groups_[{rpc.theirs.word, ours + "\n" + rpc.row}];
    group.theirs = rpc.theirs.word;
    group.ours = ours;
    group.row = rpc.row;
    ++group.count;
    group.their_jobs += rpc.theirs.jobs();
    group.our_jobs += rpc.ours.jobs();
    if (group.examples.size() < static_cast<std::size_t>(options_.examples)) group.examples.push_back(rpc);
}

Comparison ComparisonSum::take() {
    for (auto& [pair, group] : groups_) result_.groups.push_back(std::move(group));
    groups_.clear();
    std::stable_sort(result_.groups.begin(), result_.groups.end(),
                     [](const DifferenceGroup& a, const DifferenceGroup& b) { return a.count > b.count; });
    return std::move(result_);
}

ComparedRpc compare_one(PastDecider& decider, const RecordedRpc& rpc, std::uint64_t seed) {
    ComparedRpc c;
    c.at = rpc.at;
    c.file = rpc.file;
    const LiveProject& project = decider.project();
    c.wants_work = wants_work(project.config, rpc.request, *project.tables);
    c.host_class = host_class_of(rpc.request);
    c.theirs = outcome_of(*rpc.reply, c.wants_work);
    DryDecision first;
    for (int n = 0; n <= kOtherStarts && !c.same; ++n) {
        DryDecision decision = decider.decide(rpc.request, seed + static_cast<std::uint64_t>(n));
        RpcOutcome ours = decider.outcome_of(decision);
        c.same = same_outcome(c.theirs, ours, *rpc.reply, decision);
        if (n > 0 && ours.kinds != c.ours.kinds) c.depends_on_start = true;
        if (n > 0 && !c.same) continue;
        if (n == 0) c.ms = decision.seconds * 1000;
        c.ours = std::move(ours);
        first = std::move(decision);
    }
    c.hostid = rpc.request.hostid != 0 ? rpc.request.hostid : rpc.reply->hostid;
    c.theirs_said = joined(rpc.reply->messages);
    c.ours_said = joined(first.messages);
    if (c.same) return c;
    const bool both = !c.theirs.kinds.empty() && !c.ours.kinds.empty();
    c.row = explaining_row({c.theirs.word, both ? sent_word(c.theirs, c.ours) : c.ours.word, project.config,
                            rpc.request, first, *project.tables, c.theirs.kinds});
    return c;
}

bool can_be_compared(Comparison& c, const std::optional<RecordedRpc>& rpc, const std::string& why) {
    if (!rpc) {
        if (c.unreadable++ == 0) c.notes.push_back(why);
        return false;
    }
    if (!rpc->reply) ++c.without_reply;
    return rpc->reply.has_value();
}

void name_sides(Comparison& c, const LiveProject& project, const std::string& theirs) {
    c.level = project.config.compat_level;
    c.theirs_name = theirs;
    c.ours_name = fmt::format("Sluice at level {}", c.level);
    for (const auto* problems : {&project.read.errors, &project.files.problems})
        c.notes.insert(c.notes.end(), problems->begin(), problems->end());
}

Comparison compare_with_recorded(LiveProject& project, const std::vector<RpcFile>& files,
                                 const ComparisonOptions& options) {
    const RequestLimits limits = request_limits(project.config);
    PastDecider decider(project, jobs_sent_by(files, limits));
    ComparisonSum sum(options);
    Comparison& c = sum.result();
    name_sides(c, project, "the recorded replies");
    c.jobs_from = decider.past().origin();
    std::string why;
    ProgressLine progress;
    for (std::size_t i = 0; i < files.size(); ++i) {
        progress.say([&] { return fmt::format("{} of {} requests, {} differ", i, files.size(), c.compared - c.same); });
        ++c.requests;
        const auto rpc = read_rpc(files[i], limits, why);
        if (!can_be_compared(c, rpc, why)) continue;
        decider.move_to(i, *rpc);
        ComparedRpc compared = compare_one(decider, *rpc, options.seed + 1000 * i);
        if (compared.theirs.word == "too_recent")
            ++c.not_judged;  // when the host asked before is not known any more
        else
            sum.add(compared);
    }
    if (decider.past().unknown_jobs() > 0)
        c.notes.push_back(
            fmt::format("{} jobs of the replies are not in the database any more: they count as sent, "
                        "but Sluice could not choose them",
                        decider.past().unknown_jobs()));
    return sum.take();
}

}  // namespace sluice
