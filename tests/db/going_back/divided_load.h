// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Clients that ask a project's cgi-bin/cgi behind Apache, all at once, until its jobs are out.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/db/going_back/asking_clients.h"
#include "tests/support/scheduler_server.h"
#include "tests/support/temp_dir.h"

namespace sluice::test {

struct DividedLoad {
    std::set<std::string> sent;               ///< names of jobs
    std::vector<std::string> twice;           ///< that came again
    std::vector<Id> hosts;                    ///< of each client
    std::vector<std::set<std::string>> held;  ///< by each client
    int broken = 0;                           ///< replies that are none
    double seconds = 0;
};

/// `seconds`: of work in each request; 1 is one job.
inline DividedLoad load_by_apache(TestProject& project, std::int64_t jobs, int clients, double seconds) {
    constexpr int kMostRequests = 1000;
    const TempDir folder;
    const PrivateApache web(apache_of(project, folder));
    std::vector<std::vector<std::string>> got(static_cast<std::size_t>(clients));
    DividedLoad load;
    load.hosts.resize(got.size()), load.held.resize(got.size());
    std::atomic<std::int64_t> sent = 0;
    std::atomic<int> broken = 0;
    const auto start = std::chrono::steady_clock::now();
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < got.size(); ++i)
        threads.emplace_back([&, i] {
            for (int turn = 1; turn <= kMostRequests && sent < jobs; ++turn) {
                const std::string request = work_request(load.hosts[i], turn, seconds, "", 4, fmt::format("host{}", i));
                const bool by_chunks = turn % 4 == 0;  // without a Content-Length
                const HttpReply reply = by_chunks ? http_bytes(web.port(), in_chunks("/moved/cgi", request))
                                                  : http(web.port(), "/moved/cgi", request);
                if (by_chunks ? reply.body.find("</scheduler_reply>") == std::string::npos : !malformed(reply).empty())
                    ++broken;
                if (const auto id = elements(reply.body, "hostid"); !id.empty()) load.hosts[i] = std::stoll(id[0]);
                for (const std::string& result : elements(reply.body, "result"))
                    for (const std::string& job : elements(result, "name")) got[i].push_back(job), ++sent;
            }
        });
    for (std::thread& thread : threads) thread.join();
    load.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    load.broken = broken;
    for (std::size_t i = 0; i < got.size(); ++i)
        for (const std::string& job : got[i]) {
            if (!load.sent.insert(job).second) load.twice.push_back(job);
            load.held[i].insert(job);
        }
    return load;
}

}  // namespace sluice::test
