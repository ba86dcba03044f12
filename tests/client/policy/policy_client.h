// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The real boinc-client in a state of our choice, written into the files that it reads when it starts; what it makes
// of it is read from its log, its request to the scheduler and the GUI RPC.
#include <filesystem>
#include <memory>
#include <string>

#include "tests/client/policy/request_sink.h"

namespace sluice::test {

class PolicyClient {
  public:
    /// Starts a client in `state` (a STATE of sluice_sim client, JSON; types other than CPU are made known to the
    /// client by cc_config.xml). `name` tells clients of one sink apart.
    PolicyClient(RequestSink& sink, const std::string& name, const std::string& state);
    ~PolicyClient();

    /// Waits for its first decision: {"wrr", "deadline_miss", "edf", "run", "fetch"} as sluice_sim client has them
    /// (JSON). "run" is what the GUI RPC says is executing, in the order of the client's list. Throws if the client
    /// does not come that far.
    std::string said();
    /// Waits until it has written client_state.xml with the jobs that run; the file's path.
    std::filesystem::path state_file();

  private:
    class Session;
    std::unique_ptr<Session> session_;
};

}  // namespace sluice::test
