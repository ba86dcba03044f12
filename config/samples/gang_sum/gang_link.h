// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A member's link to the hub of its project (gang_hub): what an application needs to be one of a gang. Needs nothing
// but POSIX sockets and C++17: copy it into your application. The protocol is in Sluice's docs/gangs.md.
#include <cstdint>
#include <stdexcept>
#include <string>

namespace gang {

/// The link is gone, or another member's: meet again later, and go on from the checkpoint that the hub says then.
struct LinkLost : std::runtime_error {
    using std::runtime_error::runtime_error;
};
/// The hub does not want this process. There is nothing to be gained by coming again.
struct ProcessRefused : std::runtime_error {
    using std::runtime_error::runtime_error;
};
/// The project does not wait for this job any more. Who exits with this status tells it that nobody is at fault.
struct GangGivenUp : std::runtime_error {
    using std::runtime_error::runtime_error;
};
inline constexpr int kGivenUp = 202;  // BOINC's EXIT_ABORTED_BY_PROJECT
/// All members were done, and knew it: nobody waits for this one any more.
struct Ended {};

/// What sluice_batch has put at the end of the job's command line.
struct Membership {
    std::string gang, token, host, port;
    int member = -1, size = 0;
};
/// Throws std::runtime_error if something is missing.
Membership place_of(int argc, char** argv);

class Link {
  public:
    /// Connects and says HELLO with the newest checkpoint that this member could go on from (0: the beginning). Returns
    /// when all members are there, the checkpoint that all of them go on from.
    Link(const Membership& place, std::int64_t newest_checkpoint);
    ~Link();
    Link(const Link&) = delete;
    Link& operator=(const Link&) = delete;

    std::int64_t start() const { return start_; }
    /// "MESSAGE * text", "CHECKPOINT 12", "BARRIER", "DONE". If the link is gone, next_line() says so.
    void say(const std::string& line);
    /// Waits for the hub's next line, and says now and then that this member is alive. Throws LinkLost, ProcessRefused,
    /// GangGivenUp, Ended.
    std::string next_line();

  private:
    void connect_to(const Membership& place);
    void wait_for_bytes();
    int socket_ = -1;
    std::string read_;
    std::int64_t start_ = 0;
};

}  // namespace gang
