// SPDX-License-Identifier: LGPL-3.0-or-later
#include "tests/apache/load/load_driver.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <set>
#include <thread>

#include "tests/support/private_apache.h"
#include "tests/support/test_project.h"

namespace sluice::test {
namespace {

using SteadyClock = std::chrono::steady_clock;

double since(SteadyClock::time_point start) {
    return std::chrono::duration<double>(SteadyClock::now() - start).count();
}

struct Shared {
    std::mutex mutex;
    LoadResult result;
    std::vector<double> times;
    std::set<std::string> jobs;
};

/// What one reply says, added to the totals; the host id if the reply gives one.
void take_reply(const HttpReply& reply, bool asked_for_work, double took, Shared& shared, Id& hostid) {
    const auto ids = elements(reply.body, "hostid");
    if (!ids.empty()) hostid = std::stoll(ids.front());
    std::vector<std::string> names;
    for (const auto& result : elements(reply.body, "result")) {
        const auto name = elements(result, "name");
        if (!name.empty()) names.push_back(name.front());
    }
    const std::lock_guard lock(shared.mutex);
    ++shared.result.requests;
    shared.times.push_back(took);
    if (reply.status != 200) {
        ++shared.result.broken;
        return;
    }
    const auto end = reply.body.find("</scheduler_reply>");
    if (reply.body.rfind("<scheduler_reply>", 0) != 0 || end == std::string::npos || reply.body.size() > end + 19)
        ++shared.result.malformed;
    if (asked_for_work && names.empty()) ++shared.result.no_work;
    for (const auto& name : names) {
        ++shared.result.jobs;
        if (!shared.jobs.insert(name).second) ++shared.result.twice;
    }
    if (!asked_for_work || !names.empty()) return;
    for (auto at = reply.body.find("<message"); at != std::string::npos; at = reply.body.find("<message", at + 1)) {
        const auto text = reply.body.find('>', at) + 1;
        ++shared.result.messages[reply.body.substr(text, reply.body.find("</message>", at) - text)];
    }
}

void play_client(const LoadPlan& plan, int number, SteadyClock::time_point start, Shared& shared) {
    Id hostid = 0;
    std::int64_t seqno = 0;
    const std::string name = plan.host_prefix + std::to_string(number);
    const auto over = [&] { return since(start) >= plan.seconds || (plan.over != nullptr && plan.over->load()); };
    for (int n = 0; !over() && (plan.requests == 0 || n < plan.requests); ++n) {
        const auto sent = SteadyClock::now();
        const double wanted = hostid == 0 ? 0 : plan.work_seconds;  // the first one only makes the host known
        const auto reply = http(plan.port, plan.path, work_request(hostid, seqno++, wanted, "", 4, name));
        const Id before = hostid;
        take_reply(reply, wanted > 0, since(sent), shared, hostid);
        if (hostid != before) seqno = 1;
    }
}

}  // namespace

LoadResult run_load(const LoadPlan& plan) {
    Shared shared;
    const auto start = SteadyClock::now();
    std::vector<std::thread> threads;
    for (int i = 0; i < plan.clients; ++i) threads.emplace_back([&, i] { play_client(plan, i, start, shared); });
    for (auto& t : threads) t.join();
    LoadResult& r = shared.result;
    r.elapsed = since(start);
    std::sort(shared.times.begin(), shared.times.end());
    if (!shared.times.empty()) {
        r.p50 = shared.times[shared.times.size() / 2];
        r.p99 = shared.times[shared.times.size() * 99 / 100];
    }
    return r;
}

std::string to_text(const LoadResult& r) {
    std::string text = fmt::format(
        "{} requests in {:.1f} s ({:.0f}/s), {} broken, {} malformed, {} without work, {} jobs ({:.0f}/s), {} twice, p50 {:.0f} ms, p99 {:.0f} ms",
        r.requests, r.elapsed, r.requests / r.elapsed, r.broken, r.malformed, r.no_work, r.jobs, r.jobs / r.elapsed,
        r.twice, 1000 * r.p50, 1000 * r.p99);
    for (const auto& [message, times] : r.messages) text += fmt::format("\n  {} x {}", times, message);
    return text;
}

}  // namespace sluice::test
