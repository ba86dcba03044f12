// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/handle/decision_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <ctime>
#include <nlohmann/json.hpp>

#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/match/policies.h"

namespace sluice {
namespace {

using Json = nlohmann::ordered_json;

Json number(double v) { return std::isfinite(v) ? Json(v) : Json(); }

Json asked_for(const Rpc& rpc) {
    const WorkRequest& w = rpc.decision.wanted;
    Json asked = Json::object();
    if (!w.resource_specific && w.total_seconds > 0) asked["seconds"] = number(w.total_seconds);
    for (int t = 0; t < kProcTypes; ++t) {
        const auto i = static_cast<std::size_t>(t);
        if (w.seconds[i] <= 0 && w.instances[i] <= 0) continue;
        asked[proc_type_name(static_cast<ProcType>(t))] = {{"seconds", number(w.seconds[i])},
                                                           {"instances", number(w.instances[i])},
                                                           {"estimated_delay", number(w.estimated_delay[i])}};
    }
    return asked;
}

const char* origin_name(OutgoingJob::Origin origin) {
    switch (origin) {
        case OutgoingJob::Origin::kPool: return "array";
        case OutgoingJob::Origin::kResend: return "resend";
        case OutgoingJob::Origin::kAssigned: return "assigned";
    }
    return "?";
}

Json sent_jobs(const Rpc& rpc) {
    Json sent = Json::array();
    for (const OutgoingJob& job : rpc.decision.jobs) {
        const Chosen& c = job.chosen;
        sent.push_back({{"result", c.job.result_id},
                        {"workunit", c.job.workunit_id},
                        {"app", c.app != nullptr ? c.app->name : ""},
                        {"app_version", c.version.app_version_id},
                        {"resource", proc_type_name(c.version.usage.proc_type)},
                        {"origin", origin_name(job.origin)},
                        {"score", number(c.score)},
                        {"runtime", number(c.estimated_runtime)},
                        {"delay_bound", number(c.delay_bound)}});
        if (c.app != nullptr && c.app->size_classes() > 1) sent.back()["size_class"] = c.job.size_class;
        if (c.host_size_class >= 0) sent.back()["host_size_class"] = c.host_size_class;
        if (c.share_band) sent.back()["share_band"] = *c.share_band;
    }
    return sent;
}

Json reasons(const Rpc& rpc) {
    Json list = Json::array();
    for (const Reason r : binding_order(rpc.decision.stats)) {
        const ReasonCount& c = rpc.decision.stats.reasons[static_cast<std::size_t>(r)];
        Json j{{"reason", reason_name(r)}, {"count", c.count}};
        if (c.nearest.value != 0 || c.nearest.required != 0) {
            j["value"] = number(c.nearest.value);
            j["required"] = number(c.nearest.required);
            if (const char* unit = reason_unit(r); *unit != '\0') j["unit"] = unit;
        }
        if (c.nearest_result != 0) j["result"] = c.nearest_result;
        if (const App* app = rpc.services.tables.app(c.appid)) j["app"] = app->name;
        list.push_back(std::move(j));
    }
    return list;
}

bool wanted(const Rpc& rpc) {
    switch (rpc.config.decision_log) {
        case DecisionLog::kOff: return false;
        case DecisionLog::kAll: return true;
        case DecisionLog::kNoWork: break;
    }
    return rpc.decision.jobs.empty() &&
           (rpc.screening.wants_work || wants_work(rpc.config, rpc.request, rpc.services.tables));
}

fs::path file_of_day(const Rpc& rpc) {
    const std::time_t now = rpc.now_sec;
    std::tm day{};
    ::localtime_r(&now, &day);
    return fs::path(rpc.config.decision_log_dir) /
           fmt::format("decisions_{:04}-{:02}-{:02}.jsonl", day.tm_year + 1900, day.tm_mon + 1, day.tm_mday);
}

/// A short wait for the others: the lock only makes the size exact, whole lines are O_APPEND's doing.
void lock_briefly(int fd) {
    for (int i = 0; i < 50 && ::flock(fd, LOCK_EX | LOCK_NB) != 0; ++i) ::usleep(200);
}

void append(const fs::path& path, const std::string& line, std::int64_t most) {
    const auto failed = [&] {
        throw FileError(fmt::format("decision log {}: {}", path.string(), std::strerror(errno)));
    };
    constexpr int kFlags =
        O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;  // a pipe must not keep the RPC waiting
    OwnedFd file(::open(path.c_str(), kFlags, 0664));
    if (file.get() < 0 && errno == ENOENT) {
        fs::create_directories(path.parent_path());
        file = OwnedFd(::open(path.c_str(), kFlags, 0664));
    }
    if (file.get() < 0) failed();
    lock_briefly(file.get());
    struct stat s {};
    if (::fstat(file.get(), &s) != 0) failed();
    if (!S_ISREG(s.st_mode)) throw FileError("decision log " + path.string() + " is not a file");
    if (most > 0 && s.st_size + static_cast<std::int64_t>(line.size()) > most) return;
    const ssize_t written = ::write(file.get(), line.data(), line.size());
    if (written == static_cast<ssize_t>(line.size())) return;
    const int why = errno;
    // A disk that is full: what stands there of the line must not become the start of the next one.
    if (written > 0) [[maybe_unused]]
        const ssize_t ended = ::write(file.get(), "\n", 1);
    errno = written < 0 ? why : ENOSPC;
    failed();
}

}  // namespace

std::string decision_record(const Rpc& rpc) {
    const Decision& d = rpc.decision;
    Json j;
    j["time"] = rpc.now;
    j["host"] = rpc.rows.host.id != 0 ? rpc.rows.host.id : rpc.request.hostid;
    j["user"] = rpc.who.account.user.id;
    j["client"] = fmt::format("{}.{}.{}", rpc.request.core_major, rpc.request.core_minor, rpc.request.core_release);
    j["platforms"] = rpc.rows.platforms;
    j["compat_level"] = rpc.config.compat_level;
    j["search"] = search_info(d.search).name;
    j["asked"] = asked_for(rpc);
    j["array"] = {{"slots_seen", d.stats.slots_scanned},
                  {"locked", d.stats.slots_locked},
                  {"candidates", d.stats.candidates},
                  {"claims_lost", d.stats.claims_lost}};
    const std::vector<Reason> order = binding_order(d.stats);
    j["binding"] = rpc.decision.jobs.empty() && !order.empty() && is_refusal(order.front())
                       ? Json(reason_name(order.front()))
                       : Json();
    j["reasons"] = reasons(rpc);
    j["sent"] = sent_jobs(rpc);
    j["messages"] = Json::array();
    for (const ReplyMessage& m : rpc.reply.messages) j["messages"].push_back(m.text);
    j["delay"] = number(delay_to_send(rpc.reply));
    return j.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void log_decision(const Rpc& rpc) noexcept {
    try {
        if (wanted(rpc)) append(file_of_day(rpc), decision_record(rpc) + "\n", rpc.config.decision_log_max_bytes);
    } catch (const std::exception& e) {
        rpc.log.warning("{}; this RPC's decision is not recorded", e.what());
    }
}

}  // namespace sluice
