// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Many clients at once against one scheduler: each is a host of its own that asks for work again and again, on a new
// connection each time, as clients do.
#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace sluice::test {

struct LoadPlan {
    int port = 0;
    std::string path = "/test_cgi/cgi";
    int clients = 16;
    double seconds = 8;                       ///< requests started after this are not made
    int requests = 0;                         ///< > 0: at most so many a client
    const std::atomic<bool>* over = nullptr;  ///< none is made when it is true, either
    double work_seconds = 1;                  ///< asked for in each request; 0: only an update
    std::string host_prefix = "load";
};

struct LoadResult {
    int requests = 0, broken = 0, malformed = 0, no_work = 0;
    int jobs = 0, twice = 0;              ///< results received; received more than once over all clients
    double elapsed = 0;                   ///< s
    double p50 = 0, p99 = 0;              ///< s a request
    std::map<std::string, int> messages;  ///< of replies without work to those who asked for it, and how often
};

LoadResult run_load(const LoadPlan& plan);
std::string to_text(const LoadResult& result);

}  // namespace sluice::test
