// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/sim/recording.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <tuple>

#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/regular_file.h"
#include "sluice/base/text.h"

namespace sluice::sim {
namespace {

/// A request before it is known which host it is of.
struct UnassignedRequest {
    double time = 0;
    std::string file;
    Id hostid = 0;
    std::int64_t seqno = 0;
    std::string machine;  ///< what a host without an id is known by
    std::optional<double> clock_error;
    SchedulerRequest request;
};

double time_of(const fs::path& file) {
    const auto since = std::chrono::file_clock::to_sys(fs::last_write_time(file)).time_since_epoch();
    return std::chrono::duration<double>(since).count();
}

/// What the simulation says itself is left away; and what is long, for recordings are.
void strip(SchedulerRequest& r) {
    r.results = {}, r.other_results = {}, r.in_progress = {}, r.trickles = {}, r.files = {}, r.unknown_tags = {};
    r.results_truncated = r.other_results_truncated = false;
    r.trickle_bytes = r.trickles_over = 0;
    r.authenticator.clear(), r.cross_project_id.clear(), r.time_stats_log.clear(), r.code_sign_key.clear();
    r.hostid = 0, r.rpc_seqno = 0;
}

void keep(const fs::path& file, std::vector<UnassignedRequest>& all, Recording& recording) {
    const auto leave_out = [&](const std::string& why) {
        if (recording.left_out++ == 0) recording.why = file.string() + ": " + why;
    };
    try {
        const auto text = read_regular_file(file);
        if (!text) return leave_out("it is gone");
        ParsedRequest parsed = parse_request(*text, {});
        if (!parsed.request) return leave_out(parsed.error);
        SchedulerRequest& r = *parsed.request;
        UnassignedRequest& k = all.emplace_back();
        k.time = time_of(file), k.file = file.string(), k.hostid = r.hostid, k.seqno = r.rpc_seqno;
        k.machine = r.authenticator + '\n' + r.host.host_cpid + '\n' + r.host.domain_name;
        if (r.client_now > 0) k.clock_error = r.client_now - k.time;
        strip(r);
        k.request = std::move(r);
    } catch (const FileError& e) {
        leave_out(e.what());
    } catch (const fs::filesystem_error& e) {
        leave_out(e.code().message());
    }
}

/// A host whose first requests have no id yet is the one that the same machine was told to be.
std::map<std::string, Id> ids_of_machines(const std::vector<UnassignedRequest>& all) {
    std::map<std::string, Id> ids;
    for (const UnassignedRequest& k : all)
        if (k.hostid != 0) ids.try_emplace(k.machine, k.hostid);
    return ids;
}

/// Copies without their times are in any order: requests of a host count upwards.
void check_times(const std::map<std::size_t, std::vector<std::int64_t>>& seqnos, const std::string& folder) {
    std::size_t pairs = 0, falling = 0;
    for (const auto& [host, list] : seqnos)
        for (std::size_t i = 1; i < list.size(); ++i) ++pairs, falling += list[i] < list[i - 1];
    if (4 * falling > pairs)
        throw Error(
            fmt::format("the times of the files in {} are not those of the requests ({} of {} count down): copy "
                        "them with their times (cp -p)",
                        folder, falling, pairs));
}

}  // namespace

Recording read_recording(const std::string& folder) {
    if (!fs::is_directory(folder)) throw Error(folder + " is no folder");
    Recording recording;
    std::vector<UnassignedRequest> all;
    for (const auto& entry : fs::directory_iterator(folder))
        if (entry.path().filename().string().ends_with("sched_request.xml")) keep(entry.path(), all, recording);
    if (all.empty())
        throw Error(recording.left_out > 0
                        ? recording.why
                        : folder + " holds no *sched_request.xml: <debug_req_reply_dir> writes them");
    std::sort(all.begin(), all.end(), [](const UnassignedRequest& a, const UnassignedRequest& b) {
        return std::tie(a.time, a.file) < std::tie(b.time, b.file);
    });
    const auto ids = ids_of_machines(all);
    std::map<std::pair<Id, std::string>, std::size_t> hosts;
    std::map<std::size_t, std::vector<std::int64_t>> seqnos;
    for (UnassignedRequest& k : all) {
        const auto known = ids.find(k.machine);
        const Id id = k.hostid != 0 || known == ids.end() ? k.hostid : known->second;
        const auto [host, is_new] = hosts.try_emplace({id, id != 0 ? "" : k.machine}, hosts.size());
        if (k.hostid != 0) seqnos[host->second].push_back(k.seqno);
        const std::string& platform = k.request.platform_name;
        auto& known_platforms = recording.platforms;
        if (std::find(known_platforms.begin(), known_platforms.end(), platform) == known_platforms.end())
            known_platforms.push_back(platform);
        recording.requests.push_back({k.time - all.front().time, host->second, k.clock_error, std::move(k.request)});
    }
    recording.hosts = hosts.size();
    check_times(seqnos, folder);
    return recording;
}

Scenario for_replay(Scenario scenario, const Recording& recording) {
    using What = EventSpec::What;
    for (const EventSpec& event : scenario.events)
        if (event.what != What::kDatabaseAway && event.what != What::kDemand)
            throw Error("scenario " + scenario.name +
                        ": hosts that vanish, fail or join are no recorded ones; --replay takes "
                        "only the events database_away and demand");
    constexpr double kLast = 60;  // s after the last request, which belongs to the simulation
    scenario.days = scenario.warmup_days + (kReplayLead + recording.span() + kLast) / kDay;
    scenario.drain_days = 0;
    scenario.fleet.hosts = static_cast<int>(recording.hosts);
    scenario.fleet.trace.clear(), scenario.fleet.trace_text.clear();
    for (const std::string& name : recording.platforms)
        if (name != "anonymous" && std::ranges::find(scenario.platforms, name) == scenario.platforms.end())
            scenario.platforms.push_back(name);
    return scenario;
}

}  // namespace sluice::sim
