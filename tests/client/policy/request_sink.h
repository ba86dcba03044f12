// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A scheduler that takes requests and never answers, so that a client stays in the state in which it asked.
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace sluice::test {

class RequestSink {
  public:
    RequestSink();
    RequestSink(const RequestSink&) = delete;
    RequestSink& operator=(const RequestSink&) = delete;
    ~RequestSink();

    int port() const { return port_; }
    /// The body of the first request that was posted to `path`, once it came; nullopt after `timeout` seconds.
    std::optional<std::string> body(const std::string& path, double timeout = 60);

  private:
    void serve();
    void take(int client);

    int listener_ = -1, port_ = 0, stop_[2] = {-1, -1};
    std::mutex mutex_;
    std::map<std::string, std::string> bodies_;  ///< by path
    std::vector<int> held_;
    std::thread thread_;
};

}  // namespace sluice::test
