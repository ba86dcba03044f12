// batch_upkeep: keeps counts, states and fraction_done of batches right, so that nothing depends on somebody looking at
// a web page. What upstream's get_batch_params() does when a page shows the batch.
#include <algorithm>
#include <cstdint>

#include "config/db_settings.h"
#include "config/load.h"
#include "daemons/batch_upkeep/upkeep_pass.h"
#include "sluice/base/error.h"
#include "sluice/base/log.h"
#include "sluice/base/project.h"
#include "sluice/daemon/command_line.h"
#include "sluice/daemon/daemon.h"

namespace {

constexpr const char* kDescription =
    "For each batch in progress: njobs, nerror_jobs, fraction_done and credit_canonical are computed from its workunits; a "
    "batch all of whose jobs succeeded or failed becomes COMPLETE, with completion_time. Rows that are right already are not "
    "written.";

/// `told`: whoever started it wants to know what it saw.
void pass(sluice::BatchUpkeepStore& store, sluice::Clock& clock, sluice::Id only, bool dry_run, bool told) {
    using namespace sluice;
    const double started = clock.now();
    std::vector<Batch> batches;
    if (only == 0) {
        batches = store.in_progress(clock.now_sec());
    } else if (const auto batch = store.batch(only)) {
        batches.push_back(*batch);
    } else {
        throw ConfigError("there is no batch " + std::to_string(only));
    }
    const UpkeepOutcome done = keep_up(store, batches, clock.now_sec(), dry_run);
    log_at(done.changed > 0 || told ? LogLevel::kNormal : LogLevel::kDebug,
           "{}pass: {} batches, {} changed, {} of them complete now; {:.3f} s",
           dry_run ? "dry run, nothing was written: " : "", done.batches.size(), done.changed, done.completed,
           clock.now() - started);
}

}  // namespace

int main(int argc, char** argv) {
    using namespace sluice;
    DaemonSettings daemon;
    daemon.name = daemon.lock_name = "batch_upkeep";
    daemon.sleep_interval = 60;
    Id only = INT64_MIN;  // not given
    bool dry_run = false;
    CommandLine line("batch_upkeep", "keep the counts and states of batches right", kDescription);
    line.flag("--one_pass", daemon.one_pass, "run once");
    line.flag("--dry_run", dry_run, "print what would be written, write nothing");
    line.option("--batch", only, "only this batch, once, whatever its state", "ID");
    line.option("--sleep_interval", daemon.sleep_interval, "seconds between passes; default 60");
    line.debug_level_option();
    line.section(
        "EXAMPLES",
        "As a daemon of config.xml:\n<daemon><cmd>batch_upkeep</cmd></daemon>\n\n"
        "batch_accel does the same before it decides; with it in <tasks>, batch_upkeep only makes it timelier.");
    try {
        log_open({});
        if (const auto status = line.parse(argc, argv)) return *status;
        if (only != INT64_MIN && only <= 0) return line.fail("--batch takes the id of a batch");
        if (daemon.sleep_interval < 0) return line.fail("--sleep_interval can't be negative");
        only = std::max<Id>(0, only);
        if (only != 0 || dry_run) daemon.one_pass = true;
        daemon.project = find_project_dir();
        const ProjectConfig config = load_config_and_warn(daemon.project);
        Database db(db_settings(config));
        const auto store = make_batch_upkeep_store(db);
        SystemClock clock;
        const auto rng = make_system_rng();
        return run_daemon(daemon, {clock, *rng}, [&] {
            pass(*store, clock, only, dry_run, daemon.one_pass);
            return PassResult::kIdle;
        });
    } catch (const std::exception& e) {
        log_critical("{}", e.what());
        return 1;
    }
}
