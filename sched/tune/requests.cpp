// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/tune/requests.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/text.h"
#include "sluice/json/input.h"

namespace sluice {
namespace {

constexpr double kDay = 86400;

/// A file, or those of a folder that hold requests, by name.
std::vector<std::string> request_files(const std::string& given) {
    if (!fs::is_directory(given)) return {given};
    std::vector<std::string> files;
    for (const auto& entry : fs::directory_iterator(given))
        if (entry.path().filename().string().ends_with("sched_request.xml")) files.push_back(entry.path().string());
    if (files.empty()) throw Error(given + " holds no *sched_request.xml: <debug_req_reply_dir> writes them");
    std::sort(files.begin(), files.end());
    return files;
}

/// What a record of the decision log says was asked for.
void ask_as_logged(const json::Object& asked, SchedulerRequest& r) {
    r.work_req_seconds = r.cpu_req_secs = r.cpu_req_instances = 0;
    for (Coproc& c : r.coprocs) c.req_secs = c.req_instances = 0;
    if (asked.has("seconds")) r.work_req_seconds = asked.number("seconds", json::kNotNegative);
    for (const std::string& name : asked.names()) {
        if (name == "seconds") continue;
        const json::Object wanted = asked.object(name);
        const double seconds = wanted.number("seconds", json::kNotNegative);
        const double instances = wanted.number("instances", json::kNotNegative);
        const double delay = wanted.number("estimated_delay", json::kNotNegative);
        r.work_req_seconds = std::max(r.work_req_seconds, seconds);
        if (name == proc_type_name(ProcType::kCpu)) {
            r.cpu_req_secs = seconds, r.cpu_req_instances = instances, r.cpu_estimated_delay = delay;
            continue;
        }
        for (Coproc& c : r.coprocs)
            if (name == proc_type_name(c.proc_type))
                c.req_secs = seconds, c.req_instances = instances, c.estimated_delay = delay;
    }
}

/// Hosts are asked about once, however often they stand in the log.
class KnownHosts {
  public:
    KnownHosts(LiveProject& project, std::vector<std::string>& notes) : project_(project), notes_(notes) {}
    /// Null: it can't be used; a note says why, once.
    const SchedulerRequest* find(Id host) {
        const auto [at, is_new] = known_.try_emplace(host);
        if (!is_new) return at->second ? &*at->second : nullptr;
        try {
            at->second = project_.request_of(host, RequestedWork{}).request;
        } catch (const Error& e) {
            notes_.push_back(e.what());
        }
        return at->second ? &*at->second : nullptr;
    }

  private:
    LiveProject& project_;
    std::vector<std::string>& notes_;
    std::map<Id, std::optional<SchedulerRequest>> known_;
};

void add_logged(const std::string& file, KnownHosts& hosts, TuneRequests& all) {
    const auto text = read_file(file);
    if (!text) throw Error(file + " does not exist");
    int line = 0;
    for (const std::string_view record : split(*text, '\n')) {
        ++line;
        if (trim(record).empty()) continue;
        const json::Object r = json::parse(std::string(record), fmt::format("{}:{}", file, line));
        const json::Object asked = r.object("asked");
        const Id host = r.whole("host", 0, std::numeric_limits<std::int32_t>::max());
        if (asked.names().empty() || host == 0) continue;  // it wanted no work, or nobody knows who asked
        if (const SchedulerRequest* known = hosts.find(host)) ask_as_logged(asked, all.requests.emplace_back(*known));
    }
}

void add_made_up(const LiveProject& project, const RequestSources& sources, TuneRequests& all) {
    const auto rng = make_seeded_rng(sources.seed);
    all.made_up = make_up_hosts(sources.made_up, *project.tables, project.resource_of(), std::time(nullptr), *rng);
    for (const auto& [id, host] : all.made_up) {
        RequestedWork wanted;
        wanted.seconds = sources.seconds > 0 ? sources.seconds : kDay * (0.05 + 0.95 * rng->uniform());
        HostRequest made = request_of_host(host.found, host.state, {}, *project.tables, project.resource_of(), wanted);
        made.request.code_sign_key = project.files.code_sign_key;
        made.request.platform_name = host.platform;
        made.request.alt_platforms.clear();
        all.requests.push_back(std::move(made.request));
    }
}

}  // namespace

TuneRequests collect_requests(LiveProject& project, const RequestSources& sources) {
    TuneRequests all;
    for (const std::string& given : sources.recorded)
        for (const std::string& file : request_files(given)) all.requests.push_back(read_request(file, project.config));
    KnownHosts hosts(project, all.notes);
    for (const std::string& file : sources.decisions) add_logged(file, hosts, all);
    RequestedWork wanted;
    if (sources.seconds > 0) wanted.seconds = sources.seconds;
    for (const Id host : sources.hosts) all.requests.push_back(project.request_of(host, wanted).request);
    if (sources.made_up > 0) add_made_up(project, sources, all);
    if (all.requests.empty())
        throw Error("there is no request to decide" + (all.notes.empty() ? "" : ": " + all.notes[0]));
    return all;
}

}  // namespace sluice
