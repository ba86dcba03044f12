// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What a daemon tells the service manager that started it: systemd's protocol of sd_notify(3), text in datagrams. It is
// a page of code; libsystemd would be a library that each start of each daemon loads.
#include <chrono>
#include <map>
#include <string>
#include <string_view>

#include "sluice/base/files.h"

namespace sluice {

/// Where nobody listens nothing is sent. What can't be sent now is sent with the next sign. Never throws.
class ServiceManager {
  public:
    /// Nobody listens.
    ServiceManager() = default;
    /// The one that NOTIFY_SOCKET names. It and WATCHDOG_… leave the environment: what this program starts does not
    /// speak for it.
    static ServiceManager from_environment();

    bool listens() const { return fd_.get() >= 0; }
    /// A turn went well. `sentence` is for who asks (systemctl status).
    void ready(std::string_view sentence);
    /// Another such sentence.
    void status(std::string_view sentence);
    /// A sign of life, sent once a second at most: it keeps the watchdog away, and until ready() the limit of the
    /// start.
    void alive();
    /// The program is about to end.
    void stopping(std::string_view why);
    /// This process becomes another program. One that speaks the protocol gets the environment back. Another one
    /// counts as ready, and is not watched.
    void leave_to_the_next(bool speaks);

  private:
    using Clock = std::chrono::steady_clock;
    /// False: it did not arrive.
    bool send(const std::string& text) const;
    void tell();

    OwnedFd fd_;
    std::string address_;                             ///< begins with '/', or with NUL: an abstract name
    std::map<std::string, std::string> environment_;  ///< as it was
    bool watched_ = false;
    long patience_ = 0;  ///< us that the manager waits for a sign
    bool ready_ = false, ready_told_ = false;
    std::string status_, status_told_;
    Clock::time_point told_{};
};

/// The one that started this process.
ServiceManager& service_manager();

}  // namespace sluice
