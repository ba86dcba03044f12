// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Messages between clients and the project's own programs: msg_from_host (trickle-up) and msg_to_host (trickle-down).
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sluice/db/database.h"

namespace sluice {

struct HostMessage {
    Id id = 0, hostid = 0;
    std::int64_t create_time = 0;
    std::string variety, xml;
};

/// Values of msg_from_host.handled.
enum class Handled : int { kNo = 0, kYes = 1 };

struct HostSpeeds {
    double median = 0, fast = 0;  ///< p_fpops of which half, and 95 % of the hosts at work have less
};

class MessageStore {
  public:
    virtual ~MessageStore() = default;
    /// The next `limit` messages above `after` that nobody has handled, by id. nullopt: of any variety.
    virtual std::vector<HostMessage> unhandled(const std::optional<std::string>& variety, Id after, int limit) = 0;
    /// The message is handled. False: it was already.
    virtual bool mark(Id message) = 0;
    /// In one transaction with mark(): a message for the host.
    virtual bool answer(Id message, const HostMessage& reply) = 0;
    /// In one transaction with mark(): credit for the host, its user and the user's team. `started`: of the work, for
    /// recent credit. False: the message was handled already, or the host is not there (then it is marked all the
    /// same).
    virtual bool grant(Id message, Id hostid, double credit, double started, double now) = 0;
    /// In one transaction with mark(): the deadline of that result of the host, if it is running and the deadline lies
    /// between `now` and `until`, is `period` seconds later. nullopt: there is no such result.
    virtual std::optional<bool> extend(Id message, Id hostid, const std::string& result, std::int64_t now,
                                       std::int64_t until, std::int64_t period) = 0;
    /// nullopt: no host has recent credit above 10.
    virtual std::optional<HostSpeeds> speeds() = 0;
    virtual std::optional<double> host_speed(Id hostid) = 0;
    virtual void send(const HostMessage& message) = 0;
};

/// `db` outlives the store.
std::unique_ptr<MessageStore> make_message_store(Database& db);

}  // namespace sluice
