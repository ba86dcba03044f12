// script_assimilator: runs a script for every workunit that has its canonical result, or failed. Upstream's program of
// that name, same options. The workunit is marked only after the script returned 0: a script may be called again for
// a workunit after a crash, so it must bear that.
//
// A script that fails does not end the daemon (upstream's does): the workunit is tried again after a while, the others
// go on.
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "config/db_settings.h"
#include "config/load.h"
#include "daemons/assimilator/script.h"
#include "sluice/base/error.h"
#include "sluice/base/log.h"
#include "sluice/base/project.h"
#include "sluice/daemon/command_line.h"
#include "sluice/daemon/daemon.h"

namespace sluice {
namespace {

constexpr int kPage = 500;
constexpr double kFirstRetry = 10, kLongestRetry = 3600;  ///< s, doubled for each failure of a workunit's script

struct Options {
    std::string app_name, script;
    WorkunitFilter filter;
    std::int64_t one_pass_n_wu = 0;
    bool dont_update_db = false;
};

class Assimilator {
  public:
    Assimilator(const Options& options, const std::filesystem::path& project, const ProjectConfig& config,
                AssimilateStore& store, Clock& clock)
        : options_(options),
          bin_(project / "bin"),
          config_(config),
          store_(store),
          clock_(clock),
          script_(parse_script_option(options.script)) {}

    PassResult pass() {
        const auto app = store_.app_id(options_.app_name);
        if (!app) throw ConfigError("there is no app named '" + options_.app_name + "'");
        WorkunitFilter filter = options_.filter;
        filter.appid = *app;
        int done = 0, failed = 0;
        Id after = 0;
        while (!stop_requested() && !enough()) {
            const auto page = store_.page(filter, after, kPage);
            if (page.empty()) break;
            after = page.back().wu.id;
            for (const Assimilable& job : page) {
                if (stop_requested() || enough()) break;
                if (!due(job.wu.id)) continue;
                (assimilate(job) ? done : failed) += 1;
                ++total_;
            }
        }
        if (done + failed > 0) log_normal("pass: {} workunits assimilated, {} scripts failed", done, failed);
        if (enough()) return PassResult::kFinished;
        return done > 0 && !options_.dont_update_db ? PassResult::kWorked : PassResult::kIdle;
    }

  private:
    struct Failure {
        double next = 0, delay = kFirstRetry;
    };

    bool enough() const { return options_.one_pass_n_wu > 0 && total_ >= options_.one_pass_n_wu; }
    bool due(Id wu) const {
        const auto it = failures_.find(wu);
        return it == failures_.end() || clock_.now() >= it->second.next;
    }

    bool assimilate(const Assimilable& job) {
        std::vector<OutputFile> files;
        if (job.canonical) files = output_files(job.canonical->xml_doc_in, config_.upload_dir, config_.uldl_dir_fanout);
        int error_mask = 0;
        Assimilable called = job;
        if (!job.canonical && job.wu.error_mask == 0) {
            log_critical("[WU#{} {}] is ready for assimilation without canonical result or error; marked as error 32",
                         job.wu.id, job.wu.name);
            error_mask = called.wu.error_mask = kWuNoCanonical;
        }
        const int status = run_script(script_arguments(script_, bin_, called, files));
        if (status != 0) {
            Failure& f = failures_[job.wu.id];
            f.next = clock_.now() + f.delay;
            const std::string hint =
                status != 127 ? ""
                              : fmt::format(" (is {} there and executable, and the interpreter of its first line?)",
                                            (bin_ / script_.front()).string());
            log_warning("[WU#{} {}] {} returned {}{}; called again in {:.0f} s", job.wu.id, job.wu.name,
                        script_.front(), status, hint, f.delay);
            f.delay = std::min(f.delay * 2, kLongestRetry);
            return false;
        }
        failures_.erase(job.wu.id);
        if (!options_.dont_update_db && store_.done(job.wu.id, error_mask, clock_.now_sec()))
            log_normal("[WU#{} {}] assimilated", job.wu.id, job.wu.name);
        return true;
    }

    const Options& options_;
    std::filesystem::path bin_;
    const ProjectConfig& config_;
    AssimilateStore& store_;
    Clock& clock_;
    std::vector<std::string> script_;
    std::map<Id, Failure> failures_;
    std::int64_t total_ = 0;
};

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
    using namespace sluice;
    Options options;
    std::vector<std::int64_t> mod;
    DaemonSettings daemon;
    daemon.name = "script_assimilator";
    daemon.sleep_interval = 10;
    daemon.always_heeds_stop_file = true;
    CommandLine line("script_assimilator", "run a script for every finished workunit",
                     "The script is bin/SCRIPT; its exit status 0 means that the workunit is done. For a workunit that "
                     "failed it is called as SCRIPT --error MASK WUNAME WUID BATCH.");
    line.option("--app", options.app_name, "app whose workunits are assimilated (required)", "NAME");
    line.option("--script", options.script,
                "script and what it is given: files files2 wu_id wu_name result_id runtime batch_id (required)",
                "\"S token …\"");
    line.option("--sleep_interval", daemon.sleep_interval, "seconds between passes that found nothing; default 10");
    line.option("--mod", mod, 2, "only workunits with id mod N = I", "N I");
    line.option("--wu_id", options.filter.wu_id, "only this workunit", "ID");
    line.flag("--one_pass", daemon.one_pass, "stop when there is nothing left to do");
    line.option("--one_pass_N_WU", options.one_pass_n_wu, "stop after N workunits");
    line.flag("--dont_update_db", options.dont_update_db, "run the scripts, mark nothing");
    line.debug_level_option();
    try {
        log_open({});
        if (const auto status = line.parse(argc, argv)) return *status;
        if (options.app_name.empty() || options.script.empty()) return line.fail("--app and --script are required");
        if (mod.size() == 2) {
            options.filter.mod_n = mod[0];
            options.filter.mod_i = mod[1];
        }
        if (options.dont_update_db) daemon.one_pass = true;
        daemon.project = find_project_dir();
        const ProjectConfig config = load_config_and_warn(daemon.project);
        Database db(db_settings(config));
        const auto store = make_assimilate_store(db);
        SystemClock clock;
        const auto rng = make_system_rng();
        Assimilator assimilator(options, daemon.project, config, *store, clock);
        return run_daemon(daemon, {clock, *rng}, [&] { return assimilator.pass(); });
    } catch (const std::exception& e) {
        log_critical("{}", e.what());
        return 1;
    }
}
