#include "sluice/daemon/daemon.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/log.h"
#include "sluice/base/owned_fd.h"
#include "sluice/base/privileges.h"
#include "sluice/base/project.h"
#include "sluice/base/timing.h"
#include "sluice/base/write_all.h"
#include "src/daemon/stop.h"

namespace sluice {
namespace {

constexpr double kFirstWait = 1, kLongestWait = 60;
constexpr int kOnePassRetries = 3;
constexpr double kOnePassPatience = 60;  ///< s that a server which went away in mid-pass is waited for

/// What became of a pass.
struct PassOutcome {
    PassResult result = PassResult::kIdle;
    std::string error;      ///< empty: it went well
    bool database = false;  ///< the error is of the kind that passes
    bool reachable = true;  ///< false: no connection could be made at all
};

PassOutcome try_pass(const std::function<PassResult()>& pass) {
    try {
        return {pass(), "", false, true};
    } catch (const DbError& e) {
        const bool passing = e.kind() == DbError::Kind::kCantConnect || e.kind() == DbError::Kind::kLost ||
                             e.kind() == DbError::Kind::kRetry;
        return {PassResult::kIdle, e.what(), passing, e.kind() != DbError::Kind::kCantConnect};
    } catch (const std::exception& e) {
        return {PassResult::kIdle, e.what(), false, true};
    }
}

class Loop {
  public:
    Loop(const DaemonSettings& settings, Env env) : settings_(settings), clock_(env.clock) {}

    int run(const std::function<PassResult()>& pass) {
        while (!stop_requested()) {
            const PassOutcome outcome = try_pass(pass);
            const auto status = outcome.error.empty() ? after_success(outcome.result) : after_error(outcome);
            if (status) return *status;
        }
        log_normal("Quitting because {}", stop_reason());
        return 0;
    }

  private:
    std::optional<int> after_success(PassResult result) {
        trouble_.over();
        wait_.reset();
        waited_ = 0;
        failures_ = 0;
        if (result == PassResult::kFinished) return 0;
        if (result == PassResult::kFailed) return 1;
        if (result == PassResult::kWorked) return std::nullopt;
        if (settings_.one_pass) return 0;
        sleep(settings_.sleep_interval, true);
        return std::nullopt;
    }

    std::optional<int> after_error(const PassOutcome& outcome) {
        // Unreachable from the start: the one who started the program should know. Gone while it worked: a restart.
        const bool retry = outcome.database && (outcome.reachable ? failures_++ < kOnePassRetries
                                                                  : failures_ > 0 && waited_ < kOnePassPatience);
        if (settings_.one_pass && !retry) {
            log_critical("{}; giving up, this was to be one pass", outcome.error);
            return 1;
        }
        if (outcome.database) {
            trouble_.report({outcome.error, "trying again until it works, at least once a minute", true}, clock_.now());
            const double wait = wait_.next();
            sleep(wait, false);
            waited_ += wait;
        } else {
            trouble_.report({outcome.error, "trying again after every sleep interval"}, clock_.now());
            sleep(std::max(settings_.sleep_interval, kFirstWait), false);
        }
        return std::nullopt;
    }

    void sleep(double seconds, bool may_wake) {
        if (settings_.sleep) {
            settings_.sleep(seconds);
        } else {
            interruptible_sleep(seconds, may_wake ? settings_.also_wake : nullptr, settings_.wake_poll);
        }
    }

    const DaemonSettings& settings_;
    const Clock& clock_;
    TroubleLog trouble_;
    BackOff wait_{kFirstWait, kLongestWait};
    double waited_ = 0;
    int failures_ = 0;
};

/// The lock that says "one of these is enough", with our pid in it for the next one, which finds it held. nullopt:
/// held.
std::optional<FileLock> take_lock(const DaemonSettings& settings) {
    const fs::path folder = settings.project / ("pid_" + short_host_name());
    const fs::path file = folder / (settings.lock_name + ".run");
    fs::create_directories(folder);
    auto lock = FileLock::try_lock(file);
    if (lock) {
        const std::string pid = std::to_string(::getpid()) + "\n";
        const OwnedFd fd(open_own_file(file.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC, 0));
        // It is for people to read: a full disk keeps nobody from working.
        if (fd.get() >= 0) write_all(fd.get(), pid);
        return lock;
    }
    std::string holder = read_file(file).value_or("");
    holder = holder.substr(0, holder.find('\n'));
    log_critical("Another {} is running for this project{}; it holds {}. Stop it first, or leave it to do the work",
                 settings.name, holder.empty() ? "" : " (process " + holder + ")", file.string());
    return std::nullopt;
}

}  // namespace

int run_daemon(const DaemonSettings& settings, Env env, const std::function<PassResult()>& pass) {
    try {
        refuse_root(settings.name, settings.project);
        std::optional<FileLock> lock;
        if (!settings.lock_name.empty()) {
            lock = take_lock(settings);
            if (!lock) return 1;
        }
        const StopWatch watch(settings.one_pass && settings.one_pass_while_stopped ? fs::path()
                                                                                   : settings.project / "stop_daemons");
        return Loop(settings, env).run(pass);
    } catch (const std::exception& e) {
        log_critical("{}", e.what());
        return 1;
    }
}

}  // namespace sluice
