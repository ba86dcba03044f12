// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/health/judgement.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "sluice/db/tables_version.h"

namespace sluice {
namespace {

constexpr double kMinute = 60, kHour = 3600, kDay = 86400;
constexpr double kLate = 30;                  ///< s that a turn may begin late
constexpr double kLongTurn = 15 * kMinute;    ///< a turn that lasts longer hangs, as far as one can see
constexpr double kFailingLong = 2 * kMinute;  ///< an error that stays so long is no hiccup
constexpr double kCronPeriod = 15 * kMinute;  ///< cron calls each five minutes

std::string span_text(double seconds) {
    if (seconds < 2 * kMinute) return fmt::format("{:.0f} s", seconds);
    if (seconds < 2 * kHour) return fmt::format("{:.0f} min", seconds / kMinute);
    if (seconds < 2 * kDay) return fmt::format("{:.0f} h", seconds / kHour);
    return fmt::format("{:.0f} days", seconds / kDay);
}

std::string size_text(double bytes) { return fmt::format("{:.1f} GB", bytes / 1e9); }

/// Gathers what is wrong under one id; the worst counts, and the first remedy.
class Checked {
  public:
    explicit Checked(std::string id) { check_.id = std::move(id); }
    void find(Health health, const std::string& says, const std::string& remedy) {
        if (!check_.says.empty()) check_.says += "; ";
        check_.says += says;
        if (health > check_.health) check_.remedy = remedy;
        check_.health = std::max(check_.health, health);
    }
    HealthCheck done(const std::string& if_well) {
        if (check_.says.empty()) check_.says = if_well;
        return check_;
    }

  private:
    HealthCheck check_;
};

HealthCheck judge_project(const HealthFacts& facts) {
    Checked project("project");
    if (!facts.config_error.empty())
        project.find(Health::kBroken, facts.config_error, "correct config.xml; every problem: " + facts.check);
    if (!facts.run_state_error.empty())
        project.find(Health::kDegraded, facts.run_state_error, "look at run_state_HOST.xml; bin/start writes it anew");
    else if (!facts.enabled)
        project.find(Health::kBroken, "the project is stopped", "bin/start");
    for (const std::string& trigger : facts.triggers)
        project.find(Health::kBroken, trigger, "remove the file if nobody works on the project");
    for (const std::string& reminder : facts.reminders)
        project.find(Health::kDegraded, reminder, "remove the file when it is no longer needed");
    if (!facts.foreign_programs.empty())
        project.find(Health::kBroken, facts.foreign_programs, "run the command that this line names");
    return project.done("enabled");
}

/// What starts a daemon that does not run.
std::string starter(const HealthFacts& facts) {
    return facts.target.empty() ? "bin/start --cron" : "as root: systemctl start " + facts.target;
}

/// `failing`: how many of the daemons so far fail.
void judge_life(const HealthFacts& facts, const DaemonFacts& daemon, int& failing, Checked& daemons) {
    const std::string log = "look at log_HOST/" + daemon.command.substr(0, daemon.command.find(' ')) + ".log";
    if (daemon.stopped) {
        daemons.find(Health::kBroken, fmt::format("'{}' hangs: it is stopped (process {})", daemon.command, daemon.pid),
                     fmt::format("kill -CONT {}", daemon.pid));
        return;
    }
    for (const LifeSign& sign : facts.life) {
        if (sign.pid != daemon.pid) continue;
        const std::string of = daemon.command.starts_with(sign.name) ? "" : " (" + sign.name + ")";
        const std::string who = "'" + daemon.command + "'" + of;
        if (sign.failing != 0) {
            // Without a database all fail, and no log says more: one stands for all.
            const bool no_database = facts.database && !facts.database->error.empty();
            if (failing++ > 0 && no_database) continue;
            const double since = facts.now - sign.failing;
            daemons.find(since < kFailingLong ? Health::kDegraded : Health::kBroken,
                         fmt::format("{} fails for {}: {}", who, span_text(since), sign.error),
                         no_database ? "repair the database first: the line of the check database says how" : log);
        } else if (sign.began > 0 && facts.now > sign.began + kLongTurn) {
            daemons.find(Health::kDegraded,
                         fmt::format("{} is busy with one turn for {}", who, span_text(facts.now - sign.began)), log);
        } else if (const double late = lateness(sign, facts.life, facts.now); late > kLate) {
            daemons.find(Health::kBroken, fmt::format("{} hangs: its turn is {} late", who, span_text(late)),
                         facts.target.empty() ? "bin/start --cron ends it after five minutes and starts it again"
                                              : "systemd ends it after ten minutes and starts it again");
        }
    }
}

HealthCheck judge_daemons(const HealthFacts& facts) {
    Checked daemons("daemons");
    std::size_t running = 0;
    int failing = 0;
    for (const DaemonFacts& daemon : facts.daemons) {
        if (daemon.disabled) continue;
        if (daemon.pid != 0) {
            ++running;
            judge_life(facts, daemon, failing, daemons);
        } else if (!daemon.problem.empty()) {
            daemons.find(Health::kBroken, fmt::format("'{}' can't be started: {}", daemon.command, daemon.problem),
                         "correct its entry in config.xml");
        } else {
            daemons.find(Health::kBroken, fmt::format("'{}' does not run", daemon.command),
                         starter(facts) + "; if it ends again, its log says why");
        }
    }
    if (failing > 1 && facts.database && !facts.database->error.empty())
        daemons.find(Health::kDegraded, fmt::format("{} more fail, too", failing - 1), "");
    if (facts.daemons.empty())
        daemons.find(Health::kDegraded, "config.xml has no daemons for this machine", facts.check);
    return daemons.done(fmt::format("{} run", running));
}

HealthCheck judge_tasks(const HealthFacts& facts) {
    Checked tasks("tasks");
    double newest = 0;
    std::size_t overdue = 0;
    std::string first;
    for (const TaskFacts& task : facts.tasks) {
        if (task.disabled || task.period <= 0) continue;
        newest = std::max(newest, task.last_run);
        const double from = std::max(task.last_run, facts.born);
        if (task.running || facts.now <= from + task.period + kCronPeriod) continue;
        if (overdue++ == 0) first = task.command;
    }
    const bool cron_runs = newest > 0 && facts.now < newest + kDay;
    if (overdue > 0 && facts.enabled)
        tasks.find(
            cron_runs ? Health::kDegraded : Health::kBroken,
            fmt::format("{} tasks are overdue, '{}' is the first; {}", overdue, first,
                        newest == 0 ? std::string("no task ever ran")
                                    : "the last task ran " + span_text(facts.now - newest) + " ago"),
            facts.target.empty()
                ? "crontab -l of the project's account must have a line with bin/start --cron; cron mails what that says"
                : "as root: systemctl list-timers 'sluice-*'; " + starter(facts));
    return tasks.done(facts.tasks.empty() ? "none" : "on time");
}

HealthCheck judge_database(const HealthFacts& facts) {
    Checked database("database");
    if (!facts.database) {
        database.find(Health::kBroken, "the database does not answer in time",
                      "look at the server: systemctl status mariadb, its error log, and its load");
        return database.done("");
    }
    const DatabaseFacts& found = *facts.database;
    if (!found.error.empty())
        database.find(Health::kBroken, found.error,
                      found.error.find("too many connections") == std::string::npos
                          ? "start the server, or correct <db_host>, <db_user>, <db_passwd>"
                          : "SHOW PROCESSLIST in the database names those that hold them");
    if (found.read_only)
        database.find(Health::kBroken, "the server is read-only", "SET GLOBAL read_only = 0, or name the primary");
    if (std::abs(found.clock_ahead) > kMinute)
        database.find(Health::kDegraded,
                      fmt::format("the clocks of this machine and the server differ by {}",
                                  span_text(std::abs(found.clock_ahead))),
                      "timedatectl status on both machines");
    for (const LockWait& wait : found.lock_waits.value_or(std::vector<LockWait>())) {
        if (wait.seconds < 10) continue;
        database.find(Health::kDegraded,
                      fmt::format("others wait for {} for a lock of connection {}{}", span_text(wait.seconds),
                                  wait.blocking_thread, wait.blocker.empty() ? "" : " of " + wait.blocker),
                      fmt::format("find out what that connection does; KILL {} ends it", wait.blocking_thread));
    }
    for (const std::string& error : found.schema_errors)
        database.find(Health::kBroken, error, "run the statement that this line names");
    // A missing column is named above, with what to do.
    if (found.schema_errors.empty())
        for (const std::string& error : found.errors)
            database.find(Health::kBroken, error, "grant the account of config.xml SELECT on this table");
    if (!found.unanswered.empty())
        database.find(Health::kDegraded, "it is slow: " + found.unanswered + " took too long, the rest was not asked",
                      "SHOW FULL PROCESSLIST: what keeps the server busy?");
    if (found.tables > kCurrentTables)
        database.find(
            Health::kBroken,
            fmt::format("the tables sluice_* are of version {}, and these programs know versions up to {}",
                        found.tables, kCurrentTables),
            fmt::format("install the newer Sluice, or call its sluice upgrade --to {} PROJECT", kCurrentTables));
    if (found.tables == 0) return database.done("reachable and writable");
    return database.done(
        fmt::format("reachable and writable; the tables sluice_* are of version {}{}", found.tables,
                    found.tables < kCurrentTables ? ", and this brings them to the newest: " + facts.upgrade : ""));
}

void judge_backlog(const WaitingRows& backlog, double now, const std::string& what, const std::string& daemon,
                   Checked& into) {
    if (backlog.rows == 0 || backlog.oldest <= 0 || now < backlog.oldest + kHour) return;
    const double age = now - backlog.oldest;
    into.find(age < 6 * kHour ? Health::kDegraded : Health::kBroken,
              fmt::format("{}{} {}, the oldest for {}", backlog.rows, backlog.rows >= kMostCounted ? " or more" : "",
                          what, span_text(age)),
              "does the " + daemon + " run, and what does its log say? Look at log_HOST/" + daemon + ".log");
}

HealthCheck judge_flow(const HealthFacts& facts) {
    Checked flow("flow");
    if (!facts.database || !facts.database->error.empty()) return flow.done("not known without the database");
    const DatabaseFacts& found = *facts.database;
    const WaitingRows& transitions = found.to_transition;
    if (transitions.rows > 0 && facts.now > transitions.oldest + 10 * kMinute) {
        flow.find(facts.now < transitions.oldest + kHour ? Health::kDegraded : Health::kBroken,
                  fmt::format("a transition is due for {}", span_text(facts.now - transitions.oldest)),
                  "does the transitioner run? Look at log_HOST/transitioner.log");
    }
    judge_backlog(found.to_delete, facts.now, "workunits wait for file_deleter", "file_deleter", flow);
    for (const AppHealth& app : found.apps) {
        judge_backlog(app.to_validate, facts.now, "workunits of " + app.name + " wait for a validator", "validator",
                      flow);
        judge_backlog(app.to_assimilate, facts.now, "workunits of " + app.name + " wait for an assimilator",
                      "assimilator", flow);
    }
    for (const std::string& app : found.unserved)
        flow.find(Health::kDegraded, app, "add the daemon that this line names to config.xml");
    return flow.done(found.unanswered.empty() && found.errors.empty() ? "nothing waits long"
                                                                      : "nothing waits long, as far as it is known");
}

HealthCheck judge_results(const HealthFacts& facts) {
    Checked results("results");
    if (!facts.database || !facts.database->error.empty()) return results.done("not known without the database");
    const auto rate = [](std::int64_t part, std::int64_t all) {
        return all == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(all);
    };
    for (const AppHealth& app : facts.database->apps) {
        const Outcomes &hour = app.outcomes.last_hour, &before = app.outcomes.day_before;
        if (hour.reported < Outcomes::kEnough) continue;
        const auto find = [&](Health health, std::int64_t n, const std::string& what, const std::string& remedy) {
            results.find(health,
                         fmt::format("{}: {} of {} results of the last hour {}", app.name, n, hour.reported, what),
                         remedy);
        };
        // Where the newest results are all of this hour, nothing tells what is usual.
        const bool compared = before.reported >= Outcomes::kEnough;
        const auto grew = [&](std::int64_t Outcomes::*what) {
            const double now = rate(hour.*what, hour.reported);
            return now >= 0.5 && (!compared || now > 2 * rate(before.*what, before.reported));
        };
        if (hour.downloads_fail())
            find(Health::kBroken, hour.download_errors, "failed with a download error",
                 "fetch an input file of a job with curl: does it stand in download/, with mode 644?");
        else if (grew(&Outcomes::compute_errors))
            find(compared ? Health::kBroken : Health::kDegraded, hour.compute_errors, "failed on the client",
                 "look at stderr_out of such a result: was an app version or a batch released?");
        else if (grew(&Outcomes::timeouts))
            find(Health::kDegraded, hour.timeouts, "came too late", "is delay_bound of the jobs long enough?");
        if (hour.none_is_valid())
            find(Health::kBroken, hour.invalid, "are invalid, and none is valid",
                 "look at log_HOST of the validator, and compare two outputs by hand");
    }
    return results.done("as usual");
}

HealthCheck judge_supply(const HealthFacts& facts) {
    Checked supply("supply");
    bool unsent = false;  // for so long that the feeder must have seen them
    std::string apps;
    if (facts.database)
        for (const AppHealth& app : facts.database->apps) {
            unsent |= app.unsent > 0 && facts.now > app.oldest_unsent + 2 * kMinute;
            apps += fmt::format("{}{} {}{}", apps.empty() ? "" : ", ", app.name, app.unsent,
                                app.unsent >= kMostCounted ? " or more" : "");
            for (const auto& [size, n] : app.by_size) apps += fmt::format(" (class {}: {})", size, n);
        }
    if (facts.foreign_feeder) return supply.done("bin/feeder is not Sluice's: its job array is not looked at");
    if (!facts.array.error.empty())
        supply.find(Health::kBroken, facts.array.error, starter(facts) + "; look at log_HOST/feeder.log");
    else if (facts.array.heartbeat > 0 && facts.now > facts.array.heartbeat + 2 * kMinute)
        supply.find(Health::kBroken,
                    fmt::format("the feeder has not looked at the job array for {}",
                                span_text(facts.now - facts.array.heartbeat)),
                    "look at log_HOST/feeder.log");
    // At a single moment it may be empty where hosts take jobs as fast as they come.
    else if (unsent && facts.array.slots > 0 && facts.array.present == 0 && facts.replies.with_work == 0)
        supply.find(Health::kBroken, fmt::format("jobs wait in the database ({}), and the job array is empty", apps),
                    "look at log_HOST/feeder.log: which jobs does it leave out, and why?");
    return supply.done(fmt::format("{} of {} slots hold a job; unsent: {}", facts.array.present, facts.array.slots,
                                   apps.empty() ? "none" : apps));
}

HealthCheck judge_replies(const HealthFacts& facts) {
    Checked scheduler("scheduler");
    if (!facts.scheduler_error.empty())
        scheduler.find(Health::kBroken, facts.scheduler_error, "look at the web server's error log");
    if (!facts.relay_error.empty())
        scheduler.find(Health::kDegraded, facts.relay_error, "run the command that this line names, as root");
    if (facts.certificate_ends) {
        const double left = *facts.certificate_ends - facts.now;
        if (left < 14 * kDay)
            scheduler.find(left < kDay ? Health::kBroken : Health::kDegraded,
                           left < 0 ? "the web server's certificate has ended"
                                    : "the web server's certificate ends in " + span_text(left),
                           "renew it: certbot renew, then reload the web server");
    }
    const ReplyFacts& replies = facts.replies;
    const std::int64_t all = replies.with_work + replies.without_work;
    bool unsent = false;
    if (facts.database)
        for (const AppHealth& app : facts.database->apps) unsent |= app.unsent > 0;
    if (all >= 50 && replies.with_work == 0 && unsent)
        scheduler.find(Health::kDegraded, fmt::format("none of the last {} replies had a job, and jobs wait", all),
                       "bin/sched_explain --host ID says why a host gets none");
    return scheduler.done(all == 0 ? "no replies lately"
                                   : fmt::format("{} of the last {} replies had jobs", replies.with_work, all));
}

HealthCheck judge_uploads(const HealthFacts& facts) {
    Checked uploads("uploads");
    if (facts.upload_error.find("out of disk space") != std::string::npos)
        uploads.find(Health::kBroken, facts.upload_error, "df -h: make room where <upload_dir> of config.xml is");
    else if (!facts.upload_error.empty())
        uploads.find(Health::kBroken, facts.upload_error,
                     "look at file_upload_handler.log and the web server's error log; " + facts.check);
    return uploads.done("taken");
}

HealthCheck judge_disks(const HealthFacts& facts) {
    Checked disks("disks");
    double least = 1;
    for (const DiskFacts& disk : facts.disks) {
        const std::string where = disk.what + " (" + disk.path + ")";
        if (!disk.unmounted.empty())
            disks.find(Health::kBroken, fmt::format("{}: nothing is mounted at {}", where, disk.unmounted),
                       "mount " + disk.unmounted);
        if (!disk.error.empty()) {
            disks.find(Health::kBroken, where + ": " + disk.error, "make the folder, or correct config.xml");
            continue;
        }
        if (disk.read_only)
            disks.find(Health::kBroken, where + ": the file system is read-only",
                       "dmesg says why; mount -o remount,rw once that is repaired");
        const double free = disk.total > 0 ? disk.free / disk.total : 1;
        const double inodes = disk.total_inodes > 0 ? disk.free_inodes / disk.total_inodes : 1;
        least = std::min({least, free, inodes});
        const bool tiny = disk.free < 200e6;
        if (tiny || (free < 0.1 && disk.free < 20e9))
            disks.find(tiny || free < 0.02 ? Health::kBroken : Health::kDegraded,
                       fmt::format("{}: {} free", where, size_text(disk.free)),
                       "df -h; does file_deleter run, and does db_purge archive elsewhere?");
        if (inodes < 0.05)
            disks.find(inodes < 0.01 ? Health::kBroken : Health::kDegraded,
                       fmt::format("{}: {:.0f} inodes are free", where, disk.free_inodes), "df -i; delete old files");
    }
    return disks.done(fmt::format("at least {:.0f} % free", least * 100));
}

HealthCheck judge_keys(const HealthFacts& facts) {
    Checked keys("keys");
    for (const std::string& error : facts.key_errors)
        keys.find(Health::kBroken, error, "docs/security.md says which keys belong together");
    return keys.done("match");
}

HealthCheck judge_logs(const HealthFacts& facts) {
    Checked logs("logs");
    for (const LogFacts& log : facts.logs)
        logs.find(Health::kDegraded, fmt::format("{}: {} times in ten minutes: {}", log.file, log.lines, log.last),
                  "look at that log");
    return logs.done("no [CRITICAL] line in ten minutes");
}

}  // namespace

const char* health_word(Health health) {
    return health == Health::kWell ? "well" : health == Health::kDegraded ? "degraded" : "broken";
}

std::vector<HealthCheck> judge_health(const HealthFacts& facts) {
    return {judge_project(facts), judge_daemons(facts), judge_tasks(facts),   judge_database(facts),
            judge_supply(facts),  judge_replies(facts), judge_uploads(facts), judge_flow(facts),
            judge_results(facts), judge_disks(facts),   judge_keys(facts),    judge_logs(facts)};
}

Health worst_of(const std::vector<HealthCheck>& checks) {
    Health worst = Health::kWell;
    for (const HealthCheck& check : checks) worst = std::max(worst, check.health);
    return worst;
}

}  // namespace sluice
