// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The sockets of the hub: one thread, poll(), lines in and out. All is bounded by HubLimits.
#include <functional>
#include <map>
#include <string>

#include "daemons/gang_hub/database_questions.h"
#include "daemons/gang_hub/hub.h"
#include "sluice/base/clock.h"
#include "sluice/base/files.h"

namespace sluice {

class HubServer final : public HubLinks {
  public:
    /// Listens at once. `address`: a numeric address or empty for all of this host's; port 0: any that is free. Throws
    /// Error.
    HubServer(const HubAddress& address, const HubLimits& limits, const Clock& clock);

    /// Who is told of links, lines, and the desk's answers; before the first turn().
    void serve(GangHub& hub, DatabaseQuestions& desk) { hub_ = &hub, desk_ = &desk; }
    /// Waits for something to do, at most that long, and does it.
    void turn(double most_seconds);
    int port() const { return port_; }

    void send(LinkId link, std::string_view line) override;
    void close(LinkId link) override;

  private:
    struct Connection {
        OwnedFd fd;
        std::string in, out;
        bool closing = false;  ///< what is in `out` is the last
        bool shut = false;     ///< we have said so; what comes is thrown away until the other side closes
        bool broken = false;
        bool overrun = false;  ///< more waits in `out` than may
        double close_by = 0;
    };

    void accept_new();
    /// False: there is none.
    bool forget_the_oldest_that_closes();
    void receive(LinkId link, Connection& c);
    void take_lines(LinkId link, Connection& c);
    void flush(Connection& c);
    /// Links that broke, read too slowly, or are through.
    void clear_away();

    HubLimits limits_;
    const Clock& clock_;
    GangHub* hub_ = nullptr;
    DatabaseQuestions* desk_ = nullptr;
    OwnedFd listener_;
    int port_ = 0;
    LinkId last_ = 0;
    std::map<LinkId, Connection> connections_;
    double accept_from_ = 0;  ///< no descriptor was free until now
    Periodic second_{1};
};

}  // namespace sluice
