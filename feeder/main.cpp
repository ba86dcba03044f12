// SPDX-License-Identifier: LGPL-3.0-or-later
// feeder: keeps the job array full. Stands for upstream's feeder and feeder_user.
#include <fmt/core.h>

#include <csignal>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "config/db_settings.h"
#include "config/load.h"
#include "config/project_config.h"
#include "config/run/own_programs.h"
#include "feeder/chain.h"
#include "feeder/command.h"
#include "feeder/feeder.h"
#include "feeder/httpd_user.h"
#include "feeder/options.h"
#include "sluice/base/env.h"
#include "sluice/base/error.h"
#include "sluice/base/log.h"
#include "sluice/base/project.h"
#include "sluice/daemon/daemon.h"
#include "sluice/db/account_store.h"
#include "sluice/db/catalogue_store.h"
#include "sluice/db/database.h"
#include "sluice/db/feeder_store.h"
#include "sluice/db/tables_version.h"

namespace {

using namespace sluice;

/// Which jobs a feeder with these options would put into an empty array: one line a slot. Writes nothing.
std::string feeder_dry_run(const ProjectConfig& config, const FeederOptions& options, FeederStore& store,
                           CatalogueStore& catalogue, Env env) {
    ProjectTables tables = catalogue.load_tables();
    if (!config.gives_an_owner_to_jobs_without_batch()) tables.batch_shares.erase(kWithoutBatch);
    const ArrayMirror empty(static_cast<std::size_t>(config.shmem_work_items));
    FeederChain chain(config, options, store, env, [](Id) { return false; });
    chain.set_apps(tables.apps);
    if (config.share_rule != ShareOrder::kOff) chain.set_batches(tables.batch_shares);
    while (!chain.enumerator.has_surveyed()) chain.enumerator.turn(env.clock.now(), true);
    const Choice choice = chain.filler.choose(empty, empty.empty_slots(), env.clock.now());
    std::string text;
    for (const Placement& p : choice.placements) {
        const App* app = tables.app(p.job.app_id);
        text +=
            fmt::format("slot {}: [RESULT#{}] of [WU#{}], app {}, priority {}, batch {}, size class {}, HR class {}\n",
                        p.slot, p.job.result_id, p.job.workunit_id, app != nullptr ? app->name : "?", p.job.priority,
                        p.job.batch, p.job.size_class, p.job.hr_class);
    }
    text += fmt::format("{} of {} slots would be filled, {} more jobs wait, {} would be marked as not needed\n",
                        choice.placements.size(), empty.size(), chain.enumerator.backlog().size(),
                        choice.not_needed.size());
    return text;
}

constexpr double kGather = 0.003, kLeastSleep = 0.05;  // s

volatile std::sig_atomic_t g_dump_wanted = 0;

void on_sigusr1(int) { g_dump_wanted = 1; }

void install_dump_signal() {
    struct sigaction action {};
    action.sa_handler = on_sigusr1;
    sigemptyset(&action.sa_mask);
    ::sigaction(SIGUSR1, &action, nullptr);  // without SA_RESTART: it ends a wait
}

std::unique_ptr<FeederArray> make_array(const ProjectConfig& config) {
    JobArraySettings settings;
    settings.slots = static_cast<std::uint32_t>(config.shmem_work_items);
    settings.users = web_server_accounts(config);
    if (const std::string wrong = unknown_httpd_user(config); !wrong.empty()) log_critical("{}", wrong);
    auto array = FeederArray::create(job_array_name(config.shmem_key, config.project_dir), settings);
    log_normal("Job array with {} slots made; it can be used {}", settings.slots, array->access_note());
    return array;
}

DbSettings db_settings_of(const ProjectConfig& config) {
    DbSettings settings = db_settings(config);
    settings.read_uncommitted = true;
    return settings;
}

/// Gives the feeder its turns. It makes the job array, waits between turns until jobs are taken, prints the state on
/// SIGUSR1, and removes the array at the end.
class FeederLoop {
  public:
    /// Both outlive it. From here on SIGUSR1 is a wish for the state on stderr.
    FeederLoop(const ProjectConfig& config, const FeederOptions& options, Env env);
    /// One turn and the wait behind it.
    TurnResult pass();
    /// Of the last turn; it goes on with the jobs that it has.
    std::string trouble() const { return feeder_ ? feeder_->trouble() : ""; }
    /// The array goes, unless `keep`.
    void end(bool keep);

  private:
    TurnResult turn();
    void abandon_array();
    void prepare_for_schedulers();
    TurnResult end_of_one_pass() const;
    void leave_alone(double seconds);

    const ProjectConfig& config_;
    const FeederOptions& options_;
    Env env_;
    Database db_;
    std::unique_ptr<FeederStore> store_;
    std::unique_ptr<CatalogueStore> catalogue_;
    std::unique_ptr<FeederLeaseStore> leases_;
    std::string lease_name_;
    bool tables_known_ = false;
    std::unique_ptr<FeederArray> array_;
    std::unique_ptr<Feeder> feeder_;
};

FeederLoop::FeederLoop(const ProjectConfig& config, const FeederOptions& options, Env env)
    : config_(config),
      options_(options),
      env_(env),
      db_(db_settings_of(config)),
      store_(make_feeder_store(db_)),
      catalogue_(make_catalogue_store(db_)),
      lease_name_(short_host_name() + ":" + config.project_dir) {
    install_dump_signal();
    // A static share leaves nothing to agree on; one that sleeps for long would seem to have died.
    const bool alone = options.share.n > 0 || options.workunit_share.n > 0 || options.sleep_interval ||
                       options.one_pass || options.dry_run;
    if (!alone) leases_ = make_feeder_lease_store(db_);
}

void FeederLoop::end(bool keep) {
    feeder_.reset();
    if (array_ && !keep) array_->close_and_remove();
    try {
        if (leases_ && db_.connected()) leases_->give_back(lease_name_);
    } catch (const DbError&) {  // it expires
    }
}

/// Settings that can't work and a segment that can't be made end the program: waiting would not help. It does where
/// /dev/shm is full: the loop says so and tries again.
TurnResult FeederLoop::pass() {
    try {
        if (!options_.dry_run) return turn();
        std::fputs(feeder_dry_run(config_, options_, *store_, *catalogue_, env_).c_str(), stdout);
        return TurnResult::kFinished;
    } catch (const ConfigError& e) {
        log_critical("{}", e.what());
    } catch (const NoSharedMemory&) {
        throw;
    } catch (const ShmemError& e) {
        log_critical("{}", e.what());
    }
    return TurnResult::kFailed;
}

TurnResult FeederLoop::turn() {
    // Without an array no scheduler works with tables that it does not know: no request has to ask.
    if (!tables_known_) require_known_tables(db_);
    tables_known_ = true;
    if (array_ && !array_->current()) abandon_array();
    if (!array_) array_ = make_array(config_);
    if (!feeder_) prepare_for_schedulers();
    if (!feeder_)
        feeder_ = std::make_unique<Feeder>(
            config_, options_, FeederParts{*array_, *store_, *catalogue_, leases_.get(), lease_name_}, env_);
    const double wait = feeder_->turn();
    if (g_dump_wanted != 0) {
        g_dump_wanted = 0;
        std::fputs(feeder_->state_text().c_str(), stderr);
    }
    if (options_.one_pass) return end_of_one_pass();
    if (options_.sleep_interval && feeder_->ready() && feeder_->trouble().empty()) {
        leave_alone(*options_.sleep_interval);
    } else if (wait > 0 && array_->wait_for_consumption(wait)) {
        // A scheduler that takes one job often takes more: refill them together.
        interruptible_sleep(kGather);
    }
    return TurnResult::kWorked;
}

/// Nobody can attach to a segment without a name, though who has it mapped goes on.
void FeederLoop::abandon_array() {
    log_warning(
        "The job array is damaged, or its name in /dev/shm is gone (rm, or systemd's RemoveIPC when this account "
        "logged out: see docs/install.md); making a new job array");
    feeder_.reset();
    array_->close_and_remove();
    array_.reset();
}

/// What would cost the first request of a scheduler time. It manages without.
void FeederLoop::prepare_for_schedulers() {
    try {
        prepare_host_attempts(db_);
    } catch (const DbError& e) {
        if (e.kind() != DbError::Kind::kOther) return;  // away: the first turn says so
        log_warning(
            "sluice_host_rpc is not there, and can't be made ({}): requests of one host are distinguished by their "
            "second and number alone",
            e.what());
    }
}

TurnResult FeederLoop::end_of_one_pass() const {
    if (!feeder_->trouble().empty()) {
        log_critical("{}; giving up, this was to be one pass", feeder_->trouble());
        return TurnResult::kFailed;
    }
    return feeder_->ready() ? TurnResult::kFinished : TurnResult::kWorked;
}

void FeederLoop::leave_alone(double seconds) {
    const auto reread = std::filesystem::path(config_.project_dir) / "reread_db";
    bool rested = false;  // it may be there still: just seen, or impossible to remove
    interruptible_sleep(std::max(seconds, kLeastSleep), [&] {
        array_->heartbeat(env_.clock.now_sec());
        const bool wish = !options_.leave_reread_db && std::exchange(rested, true) && std::filesystem::exists(reread);
        return wish || g_dump_wanted != 0 || !array_->current();
    });
}

int run(const FeederOptions& options, DaemonStart& start) {
    const ProjectConfig config = load_config_and_warn(start.settings.project);
    if (const ForeignPrograms foreign = foreign_programs(config.project_dir); !foreign.names.empty())
        log_critical("{}", foreign.line);
    FeederLoop feeder(config, options, start.env);
    start.settings.trouble = [&] { return feeder.trouble(); };
    const int status = start.loop([&] { return feeder.pass(); });
    feeder.end(options.one_pass && status == 0);
    return status;
}

}  // namespace

int main(int argc, char** argv) {
    FeederOptions options;
    DaemonProgram program = feeder_program(argc, argv, options);
    program.run = [&](DaemonStart& start) { return run(options, start); };
    return daemon_main(program, argc, argv);
}
