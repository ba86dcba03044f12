// census: how much recent credit each HR class has, for the shares of the job array's slots (<hr_allocate_slots>):
// PROJECT/hr_info.txt. Runs once (a <task> of config.xml). Upstream's program of that name; the file is written whole
// or not at all.
#include "config/db_settings.h"
#include "config/load.h"
#include "feeder/hr_quota.h"
#include "sluice/base/files.h"
#include "sluice/base/log.h"
#include "sluice/base/project.h"
#include "sluice/daemon/command_line.h"
#include "sluice/daemon/daemon.h"
#include "sluice/db/hr_census_store.h"
#include "sluice/match/matcher.h"

namespace sluice {
namespace {

/// Upstream's filter: hosts that have been at work lately.
constexpr double kMinRecentCredit = 1;

struct Stopped {};

struct HrCensus {
    HrInfo credit;
    std::size_t hosts = 0, unknown = 0;  ///< the latter: of a class of neither type
};

HrCensus take_census(HrCensusStore& store, int compat_level) {
    HrCensus census;
    for (std::size_t type = 1; type < census.credit.size(); ++type) census.credit[type].assign(kHrClasses, 0);
    store.hosts(kMinRecentCredit, [&](const Host& host) {
        if (stop_requested()) throw Stopped();
        ++census.hosts;
        bool known = false;
        for (int type = 1; type < kHrTypes; ++type) {
            const int hr_class = sluice::hr_class(host, static_cast<HrType>(type), compat_level);
            if (hr_class <= 0 || hr_class >= kHrClasses) continue;
            known = true;
            census.credit[static_cast<std::size_t>(type)][static_cast<std::size_t>(hr_class)] += host.expavg_credit;
        }
        census.unknown += known ? 0 : 1;
    });
    return census;
}

PassResult write_census(HrCensusStore& store, const std::filesystem::path& project, int compat_level) {
    try {
        const HrCensus census = take_census(store, compat_level);
        const auto file = project / "hr_info.txt";
        write_file_atomically(file, hr_info_text(census.credit));
        log_normal("{} hosts with recent credit, {} of them of no known HR class: {} written", census.hosts,
                   census.unknown, file.string());
    } catch (const Stopped&) {
        log_normal("stopped; hr_info.txt stays as it was");
    }
    return PassResult::kFinished;
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
    using namespace sluice;
    CommandLine line("census", "measure how much recent credit the hosts of each HR class have",
                     "With homogeneous redundancy and <hr_allocate_slots> the feeder shares the slots of the job array "
                     "among the classes by that. Run it about once a day, as a <task> in config.xml.");
    line.debug_level_option();
    line.section(
        "FILES",
        "PROJECT/hr_info.txt: for each HR type (fine, coarse) a line of dashes and its name, then one line a class:\n"
        "its number and the sum of expavg_credit of its hosts. A running feeder reads it when it changes.");
    try {
        log_open({});
        if (const auto status = line.parse(argc, argv)) return *status;
        DaemonSettings daemon;
        daemon.name = daemon.lock_name = "census";
        daemon.one_pass = true;
        daemon.project = find_project_dir();
        const ProjectConfig config = load_config_and_warn(daemon.project);
        DbSettings settings = db_settings(config);
        settings.read_uncommitted = true;
        Database db(settings);
        const auto store = make_hr_census_store(db);
        SystemClock clock;
        const auto rng = make_system_rng();
        return run_daemon(daemon, {clock, *rng},
                          [&] { return write_census(*store, daemon.project, config.compat_level); });
    } catch (const std::exception& e) {
        log_critical("{}", e.what());
        return 1;
    }
}
