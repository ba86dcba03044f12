// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The resident upload handler: processes that wait for what the web server's processes hand over (relay_protocol.h).
// One upload, one process, as with CGI, so locks and limits are the same; only the start of a program is saved. There
// are always some that wait. When all that may be are busy, those who come do the work themselves.
#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <string>

#include "sched/web/gateway.h"
#include "sluice/base/files.h"

namespace sluice::upload {

/// Where a worker waits, and what it tells the others.
struct RelayPlace {
    int listener = -1;                  ///< its accept() returns after some seconds, so that signals are heeded
    gid_t group = 0;                    ///< who may connect, beside this account and root
    std::function<void(bool)> at_work;  ///< a relay has come, or was served
    std::function<bool()> needless;     ///< enough others wait
};

/// A worker's side: a request is what a relay hands over. Its reads end, too, when the relay is gone.
class RelayGateway final : public Gateway {
  public:
    RelayGateway(RelayPlace place, std::function<bool()> ended);
    bool accept() override;
    std::string variable(const char* name) const override;
    ReadResult read(char* buffer, std::size_t size, Deadline until) override;
    void write(std::string_view text) override { answer_ += text; }
    void finish() override;
    bool persistent() const override { return false; }

  private:
    bool take_request();
    RelayPlace place_;
    std::function<bool()> ended_;
    OwnedFd relay_, body_;
    std::string address_, length_, answer_;
};

/// Listens in PROJECT/pid_HOST until a signal that ends file_upload_handler; each of its processes runs `worker`.
/// `ended`: such a signal has come already. The exit status. Throws Error if it can't listen.
int serve_relays(const std::filesystem::path& project, const std::function<void(const RelayPlace&)>& worker,
                 const std::function<bool()>& ended);

}  // namespace sluice::upload
