// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A conversation with the resident scheduler.
#include <string>
#include <string_view>

#include "sched/cgi/fastcgi_records.h"

namespace sluice::relay {

class Resident {
  public:
    enum class Outcome {
        kAnswered,  ///< its reply stands on standard output, all of it
        kRefused,   ///< nothing was done
        kLost       ///< it may have been done
    };
    ~Resident();
    /// 0, or why nobody takes this request. ENOENT: there is no socket. EPERM: of a stranger. ECONNRESET: it closed the
    /// connection. EPROTO: of another version. ETIMEDOUT: it says nothing. Another errno: of open() or connect().
    /// `project`: the folder whose owner, or this process's own user, or root has to be at the other end.
    int connect(const std::string& project);
    /// The request so far: the variables and the beginning of the body. False: no more of it is wanted.
    bool send(std::string_view variables, std::string_view body);
    bool send_more(std::string_view body);
    bool send_end();
    /// Copies the reply to standard output as it comes.
    Outcome reply();
    /// Something stands on standard output.
    bool began() const { return began_; }

  private:
    struct Sink;
    int ask();
    bool send_all(std::string_view bytes);
    /// False: the connection has ended or makes no sense.
    bool read_some();

    int fd_ = -1;
    fastcgi::RecordReader reader_;
    std::string values_, end_;  ///< contents of GET_VALUES_RESULT and END_REQUEST
    bool began_ = false;
};

}  // namespace sluice::relay
