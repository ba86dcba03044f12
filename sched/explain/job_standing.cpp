// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/explain/job_standing.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "sched/explain/live_project.h"
#include "sluice/base/error.h"
#include "sluice/base/process.h"
#include "sluice/base/text.h"
#include "sluice/match/job_summary_of.h"

namespace sluice {
namespace {

const char* outcome_text(Outcome outcome) {
    switch (outcome) {
        case Outcome::kInit: return "none";
        case Outcome::kSuccess: return "success";
        case Outcome::kCouldntSend: return "could not be sent";
        case Outcome::kClientError: return "error on the host";
        case Outcome::kNoReply: return "no reply in time";
        case Outcome::kDidntNeed: return "was not needed";
        case Outcome::kValidateError: return "validation error";
        case Outcome::kClientDetached: return "the host came back without it";
    }
    return "unknown";
}

/// An unsent job that no slot holds.
std::string why_not_in_array(const JobStanding& s, const DryJobPool& pool, const KnownApps& apps,
                             const JobArrayStats& array) {
    const Workunit& w = s.job.workunit;
    if (apps.tables->app(w.appid) == nullptr) return apps.why_missing(w.appid);
    if (s.state.transitioner_flags != TransitionerFlags::kNormal)
        return "its workunit is meant for certain hosts (assigned jobs): the feeder skips it";
    if (s.state.error_mask != 0) return "its workunit was cancelled or has failed";
    if (s.state.canonical_resultid != 0) return "its workunit has a canonical result already";
    if (const std::string why = why_unwritable(s.job); !why.empty())
        return "no reply can carry its XML (" + why + "), so the feeder leaves it out";
    if (!is_alive(array.feeder)) return "the feeder does not run";
    if (pool.jobs_in_array() + pool.locked() >= pool.slots_of_array())
        return fmt::format(
            "all {} slots hold other jobs; it comes in its turn (a larger <shmem_work_items>, or another order of the feeder)",
            pool.slots_of_array());
    if (pool.locked() > 0) return "a scheduler may hold its slot now, or the feeder has not come to it yet";
    return "there is room: the feeder has not come to it yet, lets it rest, or leaves it out by its options (--mod, --wmod, --appids, slots by app)";
}

std::string standing_text(const JobStanding& s, const DryJobPool& pool, const KnownApps& apps,
                          const JobArrayStats& array) {
    const Workunit& w = s.job.workunit;
    switch (s.result.server_state) {
        case ServerState::kUnsent:
            if (s.slot) return fmt::format("unsent, in slot {} of the array", *s.slot);
            return "unsent, not in the array: " + why_not_in_array(s, pool, apps, array);
        case ServerState::kInactive: {
            const App* app = apps.tables->app(w.appid);
            return fmt::format(
                "not in the array: inactive, waits for size_regulator --app_name {} to release jobs of size class {}",
                app != nullptr ? app->name : std::to_string(w.appid), w.size_class);
        }
        case ServerState::kInProgress:
            return fmt::format("not in the array: in progress on HOST#{}, due at {:%Y-%m-%d %H:%M:%S} UTC",
                               s.result.hostid, fmt::gmtime(static_cast<std::time_t>(s.result.report_deadline)));
        case ServerState::kOver:
            return fmt::format("not in the array: over, outcome: {}", outcome_text(s.result.outcome));
    }
    return fmt::format("not in the array: server_state {} is none that can be sent",
                       static_cast<int>(s.result.server_state));
}

/// `text` may be a workunit's name: the first results are called after it.
std::string no_such_result(const std::string& text, RpcResultStore& results) {
    ResultQuery query;
    for (int i = 0; i < 10; ++i) query.names.push_back(fmt::format("{}_{}", text, i));
    std::string names;
    for (const KnownResult& r : results.load(query)) names += (names.empty() ? "" : ", ") + r.name;
    if (names.empty()) return "--job " + text + ": there is no result of that id or name";
    return "--job " + text + ": that is a workunit; name one of its results: " + names;
}

}  // namespace

JobStanding stand_of_job(const std::string& text, RpcResultStore& results, FeederStore& store, const DryJobPool& pool,
                         const KnownApps& apps, const JobArrayStats& array) {
    JobStanding s;
    std::optional<Id> id = parse_int(text);
    if (!id) {
        ResultQuery query;
        query.names = {text};
        const auto known = results.load(query);
        if (known.empty()) throw Error(no_such_result(text, results));
        id = known.front().id;
    }
    const Id ids[] = {*id};
    const auto jobs = store.load(ids);
    if (jobs.empty())
        throw Error("--job " + text +
                    ": there is no result of that id (a workunit's id is not one), or its workunit is gone");
    s.job = jobs.front();
    ResultQuery query;
    query.names = {s.job.result.name};
    for (const KnownResult& k : results.load(query))
        if (k.id == *id) s.result = k;
    if (const auto states = store.look_at(ids); !states.empty()) s.state = states.front();
    s.slot = pool.slot_of(*id);
    s.text = standing_text(s, pool, apps, array);
    return s;
}

}  // namespace sluice
