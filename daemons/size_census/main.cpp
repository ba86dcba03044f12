// size_census: measures how fast the devices are that run each multi-size app, and writes the quantiles that the
// scheduler matches size classes with: PROJECT/size_census_APP. Runs once (a <task> of config.xml). Stands for
// upstream's size_census.php; files are written whole or not at all.
#include <fmt/core.h>

#include "config/db_settings.h"
#include "config/load.h"
#include "daemons/size_census/advise.h"
#include "daemons/size_census/plan.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/log.h"
#include "sluice/base/project.h"
#include "sluice/daemon/command_line.h"
#include "sluice/daemon/daemon.h"

namespace sluice {
namespace {

/// Upstream's filter at level 0: hosts that have been at work lately.
constexpr double kMinRecentCredit = 10;

struct Options {
    bool all_apps = false, dry_run = false, advise = false, one_pass = false;
    std::string svg;
    AdviceWish wish;
};

struct Stopped {};

class Census {
  public:
    Census(const Options& options, const std::filesystem::path& project, const ProjectConfig& config,
           SizeCensusStore& store, Clock& clock)
        : options_(options), project_(project), level_(config.compat_level), store_(store), clock_(clock) {}

    void run() {
        const double started = clock_.now();
        const auto apps = store_.apps(options_.all_apps);
        several_ = apps.size() > 1;
        if (apps.empty())
            log_normal("no app has size classes (app.n_size_classes > 1): nothing to do{}",
                       options_.all_apps ? "" : "; --all_apps looks at every app");
        std::size_t devices = 0;
        try {
            for (const App& app : apps) devices += census_or_complaint(app);
        } catch (const Stopped&) {
            log_normal("stopped after {} devices: what is not written yet stays as it was", devices);
            return;
        }
        log_normal("{} apps, {} devices, {:.3f} s", apps.size(), devices, clock_.now() - started);
    }

    /// Some file could not be written.
    bool failed() const { return failed_; }

  private:
    /// A file that can't be written is no reason to leave the other apps without.
    std::size_t census_or_complaint(const App& app) {
        try {
            return census(app);
        } catch (const FileError& e) {
            log_critical("app {}: {}", app.name, e.what());
            failed_ = true;
            return 0;
        }
    }

    std::size_t census(const App& app) {
        std::vector<double> speeds;
        store_.speeds(app.id, level_ >= 1 ? -1 : kMinRecentCredit, level_ >= 1, [&](const SpeedRecord& r) {
            if (stop_requested()) throw Stopped();
            speeds.push_back(effective_speed(r));
        });
        if (options_.advise) {
            advise_on(app, speeds);
        } else if (speeds.empty()) {
            const auto file = project_ / ("size_census_" + app.name);
            log_warning("app {}: no measured host{}; {}", app.name, level_ >= 1 ? "" : " with recent credit above 10",
                        std::filesystem::exists(file) ? "the old census file stays" : "no census file is written");
        } else {
            write(app, speeds);
        }
        return speeds.size();
    }

    void write(const App& app, std::vector<double>& speeds) {
        const std::size_t n = speeds.size();
        const std::string text = census_text(quantiles(speeds, app.size_classes()));
        const auto file = project_ / ("size_census_" + app.name);
        if (options_.dry_run) {
            fmt::print("{} ({} devices):\n{}", file.string(), n, text);
            return;
        }
        write_file_atomically(file, text);
        log_normal("app {}: {} devices, {} size classes: {} written", app.name, n, app.size_classes(), file.string());
    }

    void advise_on(const App& app, std::vector<double>& speeds) {
        const Advice advice = advise(speeds, options_.wish);
        fmt::print("{}{}", advice_text(app.name, advice, options_.wish), histogram_text(speeds));
        if (!options_.svg.empty()) write_file_atomically(picture_of(app), histogram_svg(app.name, speeds, advice));
    }

    /// With several apps each has its own: speeds.svg is speeds_APP.svg.
    std::filesystem::path picture_of(const App& app) const {
        std::filesystem::path file = options_.svg;
        if (several_) file.replace_filename(file.stem().string() + "_" + app.name + file.extension().string());
        return file;
    }

    const Options& options_;
    std::filesystem::path project_;
    int level_;
    SizeCensusStore& store_;
    Clock& clock_;
    bool several_ = false, failed_ = false;
};

void define_options(CommandLine& line, Options& o) {
    line.flag("--all_apps", o.all_apps, "also apps without size classes");
    line.flag("--dry_run", o.dry_run, "print the quantiles, write nothing");
    line.flag("--one_pass", o.one_pass, "accepted: it always runs once");
    line.flag("--advise", o.advise, "suggest the number of classes and the sizes of their jobs; writes no census");
    line.option("--target_runtime", o.wish.target_runtime,
                "with --advise: run time that a job should have; default 3600", "SECONDS");
    line.option("--band", o.wish.band, "with --advise: a run time up to this factor off the target is good; default 2");
    line.option("--share", o.wish.share, "with --advise: share of hosts that should have a good run time; default 0.9");
    line.option("--svg", o.svg,
                "with --advise: write the histogram as a picture; with several apps NAME.svg becomes NAME_APP.svg",
                "FILE");
    line.debug_level_option();
    line.section("FILES", "PROJECT/size_census_APP: n_size_classes - 1 lines, ascending flops per second.");
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
    using namespace sluice;
    Options options;
    CommandLine line(
        "size_census", "measure the speed of the devices that run multi-size apps",
        "The effective speed of a device is the flops it does per second of wall time: the fraction of time it "
        "computes divided by host_app_version.et_avg.");
    define_options(line, options);
    try {
        log_open({});
        if (const auto status = line.parse(argc, argv)) return *status;
        if (options.wish.target_runtime <= 0 || options.wish.band <= 1 || options.wish.share <= 0 ||
            options.wish.share > 1)
            return line.fail("--target_runtime must be above 0, --band above 1, --share in (0, 1]");
        if (!options.svg.empty() && !options.advise) return line.fail("--svg is a picture of what --advise says");
        DaemonSettings daemon;
        daemon.name = daemon.lock_name = "size_census";
        daemon.one_pass = true;
        daemon.project = find_project_dir();
        const ProjectConfig config = load_config_and_warn(daemon.project);
        Database db(replica_db_settings(config));
        const auto store = make_size_census_store(db);
        SystemClock clock;
        const auto rng = make_system_rng();
        Census census(options, daemon.project, config, *store, clock);
        const int status = run_daemon(daemon, {clock, *rng}, [&] {
            census.run();
            return PassResult::kFinished;
        });
        return census.failed() ? 1 : status;
    } catch (const std::exception& e) {
        log_critical("{}", e.what());
        return 1;
    }
}
