// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Decides requests while another scheduler answers them, as sched/tee shows them. Each is decided on a snapshot of the
// database from the moment when it came, before the other scheduler has read it: its rows are those that it found.
// What a snapshot cannot show is the other one's job array; jobs that it sent count as waiting (past_state.h).
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sched/shadow/comparison.h"
#include "sched/shadow/teed_requests.h"

namespace sluice {

struct LiveOptions {
    ComparisonOptions comparing;
    double seconds = 0;  ///< 0: until it is stopped
    std::string keep;    ///< a folder for requests that differ, and their replies; "": none
};

class LiveShadow {
  public:
    /// `open_project`: called for each snapshot that may be held at a time. Throws Error, DbError.
    LiveShadow(const std::function<std::unique_ptr<LiveProject>()>& open_project, TeedRequests& teed,
               LiveOptions options);
    ~LiveShadow();

    /// Until the time is over, or `stop` (a signalfd) can be read.
    void look(int stop);
    /// The last ones, for which nobody waits long; then the result. `teed` is closed.
    Comparison finish();

  private:
    class Lane;
    void begin(TeedRequest& request);
    void decide(TeedRequest& request);
    void compare(Lane& lane, const TeedRequest& request);
    void keep(ComparedRpc& rpc, const TeedRequest& request) const;
    std::string state();

    TeedRequests& teed_;
    const LiveOptions options_;
    const LiveClock::time_point began_ = LiveClock::now();
    std::vector<std::unique_ptr<Lane>> lanes_;
    ComparisonSum sum_;
};

}  // namespace sluice
