// feeder: keeps the job array full. Stands for upstream's feeder and feeder_user.
#include <pwd.h>

#include <csignal>
#include <cstdio>

#include "config/db_settings.h"
#include "config/load.h"
#include "feeder/command.h"
#include "feeder/dry_run.h"
#include "feeder/feeder.h"
#include "sluice/base/error.h"
#include "sluice/base/log.h"
#include "sluice/base/project.h"
#include "sluice/daemon/daemon.h"
#include "sluice/db/account_store.h"

namespace sluice {
namespace {

volatile std::sig_atomic_t g_dump_wanted = 0;

void on_sigusr1(int) { g_dump_wanted = 1; }

void install_dump_signal() {
    struct sigaction action {};
    action.sa_handler = on_sigusr1;
    sigemptyset(&action.sa_mask);
    ::sigaction(SIGUSR1, &action, nullptr);  // without SA_RESTART: it ends a wait
}

/// The accounts that the web server may run under: <httpd_user>, or, if this machine does not know it, the usual ones.
std::vector<std::string> web_server_accounts(const ProjectConfig& config) {
    if (::getpwnam(config.httpd_user.c_str()) != nullptr) return {config.httpd_user};
    return {"www-data", "apache", "httpd", "http", "wwwrun", "nginx"};
}

std::unique_ptr<FeederArray> make_array(const ProjectConfig& config) {
    JobArraySettings settings;
    settings.slots = static_cast<std::uint32_t>(config.shmem_work_items);
    settings.users = web_server_accounts(config);
    auto array = FeederArray::create(job_array_name(config.shmem_key, config.project_dir), settings);
    log_normal("Job array with {} slots made; it can be used {}", settings.slots, array->access_note());
    return array;
}

/// One turn and the wait behind it, for run_daemon.
class Program {
  public:
    Program(const ProjectConfig& config, const FeederOptions& options, Env env)
        : config_(config),
          options_(options),
          env_(env),
          db_(settings_of(config)),
          store_(make_feeder_store(db_)),
          catalogue_(make_catalogue_store(db_)) {}

    int run() {
        DaemonSettings daemon;
        daemon.name = "feeder";
        daemon.project = config_.project_dir;
        daemon.one_pass = options_.one_pass || options_.dry_run;
        const int status = run_daemon(daemon, env_, [this] { return guarded_pass(); });
        feeder_.reset();
        const bool keep = options_.one_pass && status == 0 && status_ == 0;
        if (array_ && !keep) array_->close_and_remove();
        return status != 0 ? status : status_;
    }

  private:
    static DbSettings settings_of(const ProjectConfig& config) {
        DbSettings settings = db_settings(config);
        settings.read_uncommitted = true;
        return settings;
    }

    /// Settings that can't work and a segment that can't be made end the program: waiting would not help.
    PassResult guarded_pass() {
        try {
            return options_.dry_run ? dry_run() : pass();
        } catch (const ConfigError& e) {
            log_critical("{}", e.what());
        } catch (const ShmemError& e) {
            log_critical("{}", e.what());
        }
        status_ = 1;
        return PassResult::kFinished;
    }

    PassResult dry_run() {
        std::fputs(feeder_dry_run(config_, options_, *store_, *catalogue_, env_).c_str(), stdout);
        return PassResult::kFinished;
    }

    PassResult pass() {
        if (array_ && !array_->current()) abandon_array();
        if (!array_) array_ = make_array(config_);
        if (!feeder_) prepare_for_schedulers();
        if (!feeder_)
            feeder_ = std::make_unique<Feeder>(config_, options_, FeederParts{*array_, *store_, *catalogue_}, env_);
        const double wait = feeder_->turn();
        if (g_dump_wanted != 0) {
            g_dump_wanted = 0;
            std::fputs(feeder_->state_text().c_str(), stderr);
        }
        if (options_.one_pass) return end_of_one_pass();
        if (options_.sleep_interval && feeder_->ready() && feeder_->trouble().empty()) {
            leave_alone(*options_.sleep_interval);
        } else if (wait > 0 && array_->wait_for_consumption(wait)) {
            // Whoever takes one job often takes more: refill them together.
            interruptible_sleep(kGather);
        }
        return PassResult::kWorked;
    }

    /// Nobody can attach to a segment without a name, though who has it mapped goes on.
    void abandon_array() {
        log_warning(
            "The job array is damaged, or its name in /dev/shm is gone (rm, or systemd's RemoveIPC when this account "
            "logged out: see docs/install.md); making a new job array");
        feeder_.reset();
        array_->close_and_remove();
        array_.reset();
    }

    /// What would cost the first request of a scheduler time. It manages without.
    void prepare_for_schedulers() {
        try {
            prepare_host_attempts(db_);
        } catch (const DbError& e) {
            if (e.kind() != DbError::Kind::kOther) return;  // away: the first turn says so
            log_warning(
                "sluice_host_rpc is not there, and can't be made ({}): requests of one host are told apart by their "
                "second and number alone",
                e.what());
        }
    }

    PassResult end_of_one_pass() {
        if (!feeder_->trouble().empty()) {
            log_critical("{}; giving up, this was to be one pass", feeder_->trouble());
            status_ = 1;
            return PassResult::kFinished;
        }
        return feeder_->ready() ? PassResult::kFinished : PassResult::kWorked;
    }

    void leave_alone(double seconds) {
        const auto reread = std::filesystem::path(config_.project_dir) / "reread_db";
        interruptible_sleep(std::max(seconds, kLeastSleep), [&] {
            array_->heartbeat(env_.clock.now_sec());
            return g_dump_wanted != 0 || std::filesystem::exists(reread) || !array_->current();
        });
    }

    static constexpr double kGather = 0.003, kLeastSleep = 0.05;

    const ProjectConfig& config_;
    const FeederOptions& options_;
    Env env_;
    Database db_;
    std::unique_ptr<FeederStore> store_;
    std::unique_ptr<CatalogueStore> catalogue_;
    std::unique_ptr<FeederArray> array_;
    std::unique_ptr<Feeder> feeder_;
    int status_ = 0;
};

int feeder_main(int argc, char** argv) {
    FeederOptions options;
    if (const auto status = parse_feeder_command(argc, argv, options)) return *status;
    try {
        const ProjectConfig config = load_config_and_warn(find_project_dir());
        log_normal("Starting");
        install_dump_signal();
        SystemClock clock;
        const auto rng = make_system_rng();
        return Program(config, options, Env{clock, *rng}).run();
    } catch (const std::exception& e) {
        log_critical("{}", e.what());
        return 1;
    }
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) { return sluice::feeder_main(argc, argv); }
