// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/daemon/daemon.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/life_sign.h"
#include "sluice/base/log.h"
#include "sluice/base/metrics.h"
#include "sluice/base/project.h"
#include "sluice/base/service_manager.h"
#include "sluice/base/timing.h"
#include "sluice/base/users.h"
#include "src/daemon/stop.h"

namespace sluice {
namespace {

constexpr double kFirstWait = 1, kLongestWait = 60;
constexpr int kOnePassRetries = 3;
constexpr double kOnePassPatience = 60;  ///< s that a server which went away during a pass is waited for

/// What became of a turn.
struct TurnOutcome {
    Turn turn;
    std::string error;      ///< empty: it went well
    bool database = false;  ///< the error is of the kind that is temporary
    bool reachable = true;  ///< false: no connection could be made at all
};

TurnOutcome try_turn(Service& service) {
    try {
        return {service.turn(), "", false, true};
    } catch (const DbError& e) {
        const bool temporary = e.kind() == DbError::Kind::kCantConnect || e.kind() == DbError::Kind::kLost ||
                               e.kind() == DbError::Kind::kRetry;
        return {{}, e.what(), temporary, e.kind() != DbError::Kind::kCantConnect};
    } catch (const std::exception& e) {
        return {{}, e.what(), false, true};
    }
}

TurnOutcome counted_turn(const std::string& name, Service& service, const Clock& clock) {
    const double start = clock.now();
    TurnOutcome outcome = try_turn(service);
    const double end = clock.now();
    count_turn(name, outcome.error.empty() ? kind_of(outcome.turn) : TurnKind::kFailed, end, end - start);
    return outcome;
}

class FunctionService final : public Service {
  public:
    FunctionService(const std::function<TurnResult()>& pass, double interval) : Service(interval), pass_(pass) {}
    Turn turn() override { return {pass_(), interval()}; }

  private:
    const std::function<TurnResult()>& pass_;
};

class Loop {
  public:
    Loop(const DaemonSettings& settings, Env env, Service& service)
        : settings_(settings),
          clock_(env.clock),
          service_(service),
          life_(settings.one_pass ? LifeSignWriter()
                                  : LifeSignWriter(settings.project, settings.name, clock_, &service_manager())) {}

    int run() {
        while (!stop_requested()) {
            life_.begin_turn();
            const TurnOutcome outcome = counted_turn(settings_.name, service_, clock_);
            const auto status = outcome.error.empty() ? after_success(outcome.turn) : after_error(outcome);
            if (status) return *status;
        }
        log_normal("Quitting because {}", stop_reason());
        service_manager().stopping("Ends because " + stop_reason());
        return 0;
    }

  private:
    std::optional<int> after_success(const Turn& turn) {
        trouble_.over();
        wait_.reset();
        waited_ = 0;
        failures_ = 0;
        const double wait = turn.result == TurnResult::kIdle ? turn.wait : 0;
        if (const std::string trouble = settings_.trouble ? settings_.trouble() : ""; trouble.empty())
            life_.end_turn(wait);
        else
            life_.fail_turn(trouble, wait);
        if (turn.result == TurnResult::kFinished) return 0;
        if (turn.result == TurnResult::kFailed) return 1;
        if (turn.result == TurnResult::kWorked) return std::nullopt;
        if (settings_.one_pass) return 0;
        sleep(turn.wait);
        return std::nullopt;
    }

    std::optional<int> after_error(const TurnOutcome& outcome) {
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
            life_.fail_turn(outcome.error, wait);
            sleep(wait);
            waited_ += wait;
        } else {
            trouble_.report({outcome.error, "trying again after every sleep interval"}, clock_.now());
            const double wait = std::max(service_.interval(), kFirstWait);
            life_.fail_turn(outcome.error, wait);
            sleep(wait);
        }
        return std::nullopt;
    }

    void sleep(double seconds) {
        if (settings_.sleep)
            settings_.sleep(seconds);
        else
            interruptible_sleep(seconds);
    }

    const DaemonSettings& settings_;
    const Clock& clock_;
    Service& service_;
    LifeSignWriter life_;
    TroubleLog trouble_;
    BackOff wait_{kFirstWait, kLongestWait};
    double waited_ = 0;
    int failures_ = 0;
};

fs::path lock_file(const fs::path& project, const std::string& name) {
    return project / ("pid_" + short_host_name()) / (name + ".run");
}

void say_who_holds(const DaemonSettings& settings) {
    const fs::path file = lock_file(settings.project, settings.lock_name);
    std::string holder = read_file(file).value_or("");
    holder = holder.substr(0, holder.find('\n'));
    log_critical("Another {} is running for this project{}; it holds {}. Stop it first, or leave it to do the work",
                 settings.name, holder.empty() ? "" : " (process " + holder + ")", file.string());
}

}  // namespace

std::optional<FileLock> try_program_lock(const fs::path& project, const std::string& name) {
    const fs::path file = lock_file(project, name);
    fs::create_directories(file.parent_path());
    auto lock = FileLock::try_lock(file);
    if (!lock) return std::nullopt;
    const std::string pid = std::to_string(::getpid()) + "\n";
    const OwnedFd fd(open_own_file(file.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC, 0));
    // It is for people to read: a full disk keeps nobody from working.
    if (fd.get() >= 0) write_all(fd.get(), pid);
    return lock;
}

void count_turn(std::string_view service, TurnKind kind, double now, double seconds) {
    const std::uint32_t name = metric_label(service);
    count_metric(Metric::kTurns, {name, static_cast<std::uint16_t>(kind)});
    observe_metric(Metric::kTurnSeconds, {name}, seconds);
    set_metric(kind == TurnKind::kFailed ? Metric::kLastError : Metric::kLastTurn, {name},
               now > 0 ? static_cast<std::uint64_t>(now) : 0);
}

PreparedService::PreparedService(Service& inner, std::function<void()> prepare)
    : Service(inner.interval()), inner_(inner), prepare_(std::move(prepare)) {}

Turn PreparedService::turn() {
    try {
        if (!prepared_) prepare_();
    } catch (const ConfigError& e) {
        log_critical("{}", e.what());
        return {TurnResult::kFailed};
    }
    prepared_ = true;
    return inner_.turn();
}

TriggerNotices::TriggerNotices(fs::path project) : project_(std::move(project)) {}
void TriggerNotices::reread_tables() { ask_feeder_to_reread(project_); }

int run_daemon(const DaemonSettings& settings, Env env, const std::function<TurnResult()>& pass) {
    FunctionService service(pass, settings.sleep_interval);
    return run_daemon(settings, env, service);
}

int run_daemon(const DaemonSettings& settings, Env env, Service& service) {
    try {
        refuse_root(settings.name, settings.project);
        std::optional<FileLock> lock;
        if (!settings.lock_name.empty()) {
            lock = try_program_lock(settings.project, settings.lock_name);
            if (!lock) return say_who_holds(settings), 1;
        }
        const bool stops = !settings.one_pass || !settings.one_pass_while_stopped;
        const StopWatch watch(stops ? settings.project / "stop_daemons" : fs::path(), 0.99, settings.name);
        return Loop(settings, env, service).run();
    } catch (const std::exception& e) {
        log_critical("{}", e.what());
        return 1;
    }
}

}  // namespace sluice
