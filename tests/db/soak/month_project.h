// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A whole project for the month: what make_project makes, with every daemon and task on, on a MariaDB and a clock of
// its own. Programs are killed here, and started again as an admin's cron line and a web server would.
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sluice/db/database.h"
#include "tests/db/soak/month_clock.h"
#include "tests/support/fastcgi_client.h"
#include "tests/support/private_mariadb.h"
#include "tests/support/subprocess.h"
#include "tests/support/temp_dir.h"

namespace sluice::test {

namespace fs = std::filesystem;

struct MonthPlan {
    int days = 1, workunits = 120, kills = 8, seed = 1;
    int steps = 12;                                      ///< of a day
    double pause = 0.2;                                  ///< real seconds that idle daemons sleep
    double log_mb = 0.05;                                ///< rotate_logs --max_mb
    double keep_days = 0.25;                             ///< db_purge -min_age_days
    double deadline_days = 0.5;                          ///< of jobs
    double delay_bound = 2 * 86400, contact = 4 * 3600;  ///< s; from one request of a host to its next
    bool messages = true;                                ///< applications send messages, and trickle handlers answer
    /// What daemons sleep moves with the clock: they keep their usual intervals.
    bool moved_waits = false;
    bool scripted_validator =
        false;  ///< of the app plain; it judges all outputs to be bad while the file "refuse" is there
    std::string url_base = "http://127.0.0.1";
    std::string more_options{}, more_daemons{};  ///< of config.xml
    /// SLUICE_SOAK_DAYS, _WORKUNITS, _KILLS, _STEPS and _SEED; a long one has the values of a new project.
    static MonthPlan from_environment();
};

/// Programs that run with that clock, by name, without shells and the database's server.
std::multimap<std::string, pid_t> programs_with(const MovedClock& clock);

/// When this test program ends, however it ends, they end, too: daemons have nothing to do with who started them.
class ClockGuard {
  public:
    explicit ClockGuard(const MovedClock& clock);
    ClockGuard(const ClockGuard&) = delete;
    ClockGuard& operator=(const ClockGuard&) = delete;
    ~ClockGuard();

  private:
    int pipe_ = -1;
    pid_t watcher_ = -1;
};

class MonthProject {
  public:
    static constexpr int kUsers = 8, kTeams = 2;

    explicit MonthProject(const MonthPlan& plan);
    MonthProject(const MonthProject&) = delete;
    MonthProject& operator=(const MonthProject&) = delete;

    const MonthPlan& plan() const { return plan_; }
    MovedClock& clock() { return clock_; }
    PrivateMariaDb& server() { return server_; }
    Database& db() { return *db_; }
    fs::path folder() const { return root_; }
    /// Around the project: files of the test.
    fs::path outside(const std::string& name) const { return dir_ / name; }
    fs::path log_folder() const;
    fs::path input(const std::string& name) const;
    fs::path output(const std::string& name) const;
    int draw(int n) { return std::uniform_int_distribution<int>(0, n - 1)(random_); }
    std::int64_t count(const Sql& query) { return number_of(*db_, query); }
    static std::string key_of(int user);
    /// One of <tasks>, or what only runs for an instant.
    static bool is_task(const std::string& name);

    /// bin/start --cron.
    void cron();
    /// bin/stop: archives are closed.
    void stop() const;
    /// SIGTERM, and waits for its end.
    void end_daemon(const std::string& name);
    /// A program of the project to its end; nullopt: it was killed, since its turn had come.
    std::optional<RunResult> run_program(const std::vector<std::string>& words, const std::string& input = "");
    /// What the scheduler says to a request; nullopt: the web server's process was killed.
    std::optional<RunResult> ask_scheduler(const std::string& request);
    /// False: file_upload_handler was killed; the client tries again later.
    bool upload(const std::string& request);
    /// One of all programs, or the database's server, drawn at random, ends at a random instant: at once, or when it
    /// runs next.
    void kill_one();
    /// Nobody is killed any more; those whose turn had not come, how many.
    int disarm() {
        const auto n = static_cast<int>(armed_.size());
        armed_.clear();
        return n;
    }
    const std::map<std::string, int>& killed() const { return killed_; }
    std::multimap<std::string, pid_t> running() const { return programs_with(clock_); }
    /// Lines that programs printed which are not in any log.
    std::string take_printed() { return std::exchange(printed_, ""); }

  private:
    void make();
    void configure();
    void add_rows();
    void start_upload_handler();
    RunOptions options() const;
    std::optional<RunResult> to_its_end(Subprocess program, const std::string& name);
    bool kill_daemon(const std::string& name);
    void kill_database();
    void kill_task(const std::string& name);

    MonthPlan plan_;
    TempDir dir_;
    fs::path root_;
    MovedClock clock_;
    ClockGuard guard_;
    PrivateMariaDb server_;
    std::unique_ptr<Database> db_;
    std::mt19937 random_;
    std::unique_ptr<FastcgiSocket> upload_socket_;
    std::optional<Subprocess> upload_handler_;
    std::multiset<std::string> armed_;
    std::map<std::string, int> killed_;
    std::map<std::string, std::vector<std::string>> tasks_;
    std::string printed_;
};

}  // namespace sluice::test
