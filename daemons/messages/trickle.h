// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Programs that handle what applications report while they run (trickle-up messages of one variety). What a handler
// does and the mark that it did so are one transaction: a kill in between does neither twice nor never.
#include <functional>
#include <optional>
#include <string>

#include "sluice/base/clock.h"
#include "sluice/daemon/service.h"
#include "sluice/db/message_store.h"

namespace sluice {

/// Handles a message, and marks it. False: it could not be handled now; it stays, and comes again.
using HandleMessage = std::function<bool(const HostMessage&)>;

class TrickleService final : public Service {
  public:
    /// `variety`: nullopt for all. The store outlives it.
    TrickleService(MessageStore& store, std::optional<std::string> variety, double interval, HandleMessage handle)
        : Service(interval), store_(store), variety_(std::move(variety)), handle_(std::move(handle)) {}
    Turn turn() override;

  private:
    MessageStore& store_;
    std::optional<std::string> variety_;
    HandleMessage handle_;
};

/// The text of the first <tag> of a message that holds one; nullopt: none.
std::optional<std::string> message_field(const std::string& xml, const std::string& tag);

struct TrickleCredit {
    double max_runtime = 0;  ///< s
    HostSpeeds speeds;
    /// For `runtime` seconds on a host of that speed: 200 a day on a machine of 1 GFLOPS. Runtime and speed are
    /// bounded by what is usual; a speed below 0 is the median's.
    double of(double runtime, double p_fpops) const;
};

/// Answers with the message in <trickle_down>, which the client hands to the application.
HandleMessage echo_handler(MessageStore& store, const Clock& clock);
/// Answers with the message as it came, without a variety: the client reads it as elements of the reply.
HandleMessage return_handler(MessageStore& store, const Clock& clock);
/// nullopt: not known yet, as in a new project.
using UsualSpeeds = std::function<std::optional<HostSpeeds>()>;
/// Asks for the speeds once a day; messages wait until they are known.
HandleMessage credit_handler(MessageStore& store, const Clock& clock, double max_runtime, UsualSpeeds speeds);
/// Deadlines that end within `timeframe` s are moved by `period` s.
HandleMessage deadline_handler(MessageStore& store, const Clock& clock, std::int64_t period, double timeframe);
/// Runs PROGRAM HOSTID MESSAGEID CREATE_TIME VARIETY with the message on its standard input; 0: it is handled.
/// It is killed after `time_limit` s (0: never).
HandleMessage script_handler(MessageStore& store, std::string program, double time_limit);

}  // namespace sluice
