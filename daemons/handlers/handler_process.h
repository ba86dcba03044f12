// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A project's program, as a daemon uses it: started when there is a question, ended when it takes too long, started
// again after a crash.
#include <sys/types.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "daemons/handlers/wire.h"
#include "sluice/base/files.h"
#include "sluice/base/process.h"

namespace sluice {

struct HandlerStart {
    std::string program;                   ///< its path
    std::vector<std::string> words;        ///< its own options
    double time_limit = kScriptTimeLimit;  ///< s for one answer; 0: none
    std::int64_t memory_limit = -1;        ///< MiB of private memory; 0: none; -1: half of the machine's
};

/// The question was not answered: the program crashed, hung, or was ended because the daemon stops. The next question
/// finds a new process.
struct HandlerFailed : std::runtime_error {
    using std::runtime_error::runtime_error;
};

class HandlerProcess {
  public:
    HandlerProcess(HandlerStart options, WireHello hello) : options_(std::move(options)), hello_(std::move(hello)) {
        hello_.time_limit = options_.time_limit;
    }
    HandlerProcess(const HandlerProcess&) = delete;
    ~HandlerProcess() { end(); }

    /// Starts it, if it does not run; anew, if the daemon has gone over to a new log. Throws ConfigError if it can't
    /// begin; then no question would help.
    void start();
    /// Throws HandlerFailed; ConfigError as start().
    std::string ask(std::string_view question);
    const std::string& program() const { return options_.program; }

  private:
    void spawn(int socket);
    bool writes_to_our_log() const;
    std::string exchange(std::string_view frame);
    void send(std::string_view bytes, double until);
    void receive(char* to, std::size_t n, double until);
    void wait_until_ready(short events, double until);
    [[noreturn]] void fail(const std::string& why);
    /// "" or what ended it.
    std::string end();

    HandlerStart options_;
    WireHello hello_;
    pid_t pid_ = 0;
    dev_t log_device_ = 0;  ///< standard error, as it was when the program was started
    ino_t log_inode_ = 0;
    OwnedFd socket_;
};

}  // namespace sluice
