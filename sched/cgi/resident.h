// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Whether the resident scheduler would take a request from this account: what the relay (sched/relay/bare_relay.cpp)
// asks before each of them.
#include <string>
#include <string_view>

#include "sched/cgi/fastcgi_records.h"

namespace sluice::relay {

class Resident {
  public:
    ~Resident();
    /// 0, or why nobody would take a request. ENOENT: there is no socket. EPERM: of a stranger. ECONNRESET: it closed
    /// the connection. EPROTO: of another version. ETIMEDOUT: it says nothing. Another errno: of open() or connect().
    /// `project`: the folder whose owner, or this process's own user, or root has to be at the other end.
    int connect(const std::string& project);

  private:
    struct Sink;
    int ask();
    bool send_all(std::string_view bytes);
    /// False: the connection has ended or makes no sense.
    bool read_some();

    int fd_ = -1;
    fastcgi::RecordReader reader_;
    std::string values_;  ///< content of GET_VALUES_RESULT
};

}  // namespace sluice::relay
