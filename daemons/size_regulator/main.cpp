// size_regulator: keeps the number of sendable jobs of each size class between two water marks, by making INACTIVE
// results UNSENT. Upstream's program of that name; several apps in one process; two at once never exceed the marks.
#include <fmt/core.h>

#include <map>
#include <set>

#include "config/db_settings.h"
#include "config/load.h"
#include "daemons/size_regulator/plan.h"
#include "sluice/base/error.h"
#include "sluice/base/log.h"
#include "sluice/base/project.h"
#include "sluice/base/text.h"
#include "sluice/daemon/command_line.h"
#include "sluice/daemon/daemon.h"
#include "sluice/db/size_store.h"

namespace sluice {
namespace {

constexpr int kReclassifyBatch = 1000;
constexpr double kOrphanInterval = 600;  // s

struct RegulatedApp {
    std::string name;
    WaterMarks marks;
};

struct Options {
    std::vector<RegulatedApp> apps;
    ReleaseOrder order = ReleaseOrder::kNone;
    bool dry_run = false, reclassify = false;
};

class Regulator {
  public:
    Regulator(const Options& options, SizeRegulatorStore& store, Clock& clock)
        : options_(options), store_(store), clock_(clock) {}

    /// Upstream refuses to start for an app that is missing or has no classes; so do we.
    void check_apps() {
        for (const RegulatedApp& regulated : options_.apps) {
            const auto app = store_.app(regulated.name);
            if (!app) throw ConfigError("there is no app named '" + regulated.name + "'");
            if (app->size_classes() == 0 && !options_.reclassify)
                throw ConfigError(fmt::format("app {} has no size classes (n_size_classes is {}): nothing to regulate",
                                              app->name, app->n_size_classes));
            classes_[app->name] = app->size_classes();
        }
    }

    PassResult pass() {
        const double started = clock_.now();
        std::int64_t released = 0;
        bool again = false;
        for (const RegulatedApp& regulated : options_.apps) {
            if (stop_requested()) return PassResult::kIdle;
            const auto app = store_.app(regulated.name);
            if (!app) {
                log_warning("app {} is gone from the database; the others go on", regulated.name);
                continue;
            }
            note_classes(*app);
            released += regulate(*app, regulated.marks, again);
            look_after_orphans(*app);
        }
        if (released > 0)
            log_normal("pass: {} apps, {} jobs released in {:.3f} s", options_.apps.size(), released, clock_.now() - started);
        return again && !options_.dry_run ? PassResult::kWorked : PassResult::kIdle;
    }

  private:
    void note_classes(const App& app) {
        const int now = app.size_classes();
        int& before = classes_[app.name];
        if (now != before) log_normal("app {} has {} size classes now (it had {})", app.name, now, before);
        if (now != before) next_orphan_look_[app.name] = 0;
        before = now;
    }

    std::int64_t regulate(const App& app, const WaterMarks& marks, bool& again) {
        std::vector<Release> plan;
        const auto decide = [&](const std::map<int, std::int64_t>& unsent) {
            plan = plan_release(app.size_classes(), unsent, marks);
            std::vector<std::pair<int, std::int64_t>> wanted;
            for (const Release& r : plan) wanted.emplace_back(r.size_class, r.wanted);
            return wanted;
        };
        // Most polls find every class above its low mark: seen without locking the app.
        decide(store_.unsent(app.id));
        if (plan.empty()) return 0;
        if (options_.dry_run) {
            for (const Release& r : plan) fmt::print("{} class {}: would release up to {}\n", app.name, r.size_class, r.wanted);
            return 0;
        }
        const auto released = store_.release(app.id, options_.order, decide);
        std::int64_t total = 0;
        for (std::size_t i = 0; i < released.size(); ++i) {
            total += released[i];
            again = again || (released[i] > 0 && released[i] == plan[i].wanted);
            report(app, plan[i], released[i]);
        }
        return total;
    }

    void report(const App& app, const Release& r, std::int64_t released) {
        if (released > 0) log_normal("{} class {}: {} jobs made UNSENT", app.name, r.size_class, released);
        const auto key = std::make_pair(app.name, r.size_class);
        if (released < r.wanted && dry_.insert(key).second)
            log_normal("{} class {}: {} more were wanted, no INACTIVE job of that size is left", app.name, r.size_class,
                       r.wanted - released);
        else if (released == r.wanted)
            dry_.erase(key);
    }

    /// Counts over the app's whole queue: only at the start, when the number of classes changed, and now and then.
    void look_after_orphans(const App& app) {
        double& next = next_orphan_look_[app.name];
        if (clock_.now() < next) return;
        next = clock_.now() + kOrphanInterval;
        std::int64_t total = 0;
        const auto orphans = store_.orphans(app.id, app.size_classes());
        for (const auto& [size_class, n] : orphans) total += n;
        if (total == 0 || !options_.reclassify) {
            if (total != orphans_[app.name] && total > 0)
                log_warning("app {}: {} jobs are of size classes that do not exist (it has {}); nobody releases them; "
                            "size_regulator --reclassify gives them the largest class", app.name, total, app.size_classes());
            orphans_[app.name] = total;
            return;
        }
        const int new_class = app.size_classes() - 1;
        if (options_.dry_run) {
            fmt::print("{}: would give {} jobs size class {}\n", app.name, total, new_class);
            return;
        }
        std::int64_t moved = 0, part = 0;
        while (!stop_requested() && (part = store_.reclassify(app.id, app.size_classes(), new_class, kReclassifyBatch)) > 0)
            moved += part;
        log_normal("app {}: {} jobs were given size class {}", app.name, moved, new_class);
    }

    const Options& options_;
    SizeRegulatorStore& store_;
    Clock& clock_;
    std::map<std::string, int> classes_;
    std::map<std::string, std::int64_t> orphans_;
    std::map<std::string, double> next_orphan_look_;
    std::set<std::pair<std::string, int>> dry_;  ///< classes that were reported as having no INACTIVE job left
};

struct Given {
    std::vector<std::string> names, lo, hi;
    double sleep_time = 0;
    bool random = false, ascending = false, priority = false, create_time = false;
};

void define_options(CommandLine& line, Given& g, Options& o, DaemonSettings& daemon) {
    line.repeatable("--app_name", g.names, "app to regulate (required); may be repeated, with its own --lo and --hi", "NAME");
    line.repeatable("--lo", g.lo, "low-water mark: UNSENT jobs of a class (required)", "N");
    line.repeatable("--hi", g.hi, "high-water mark (required)", "N");
    line.option("--sleep_time", g.sleep_time, "seconds between polls (required, unless --one_pass)");
    line.flag("--random_order", g.random, "release in random order");
    line.flag("--priority_asc", g.ascending, "release low priorities first");
    line.flag("--priority_order", g.priority, "release high priorities first");
    line.flag("--priority_order_create_time", g.create_time, "high priorities first, then old workunits");
    line.flag("--one_pass", daemon.one_pass, "poll until nothing is left to release, then exit");
    line.flag("--dry_run", o.dry_run, "say what would be released, write nothing");
    line.flag("--reclassify", o.reclassify, "give jobs of size classes that no longer exist the largest class");
    line.debug_level_option();
    line.section("EXAMPLES", "size_regulator --app_name a --lo 100 --hi 500 --sleep_time 10\n"
                             "size_regulator --app_name a --lo 100 --hi 500 --app_name b --lo 10 --hi 50 --sleep_time 10");
}

/// "" or what is wrong with the command line.
std::string take(const Given& g, Options& o, DaemonSettings& daemon) {
    if (g.names.empty()) return "--app_name is required";
    for (std::size_t i = 0; i < g.names.size(); ++i) {
        // One pair of marks serves all apps; else each has its own.
        if (g.lo.empty() || g.hi.empty()) return "--lo and --hi are required and must be above 0";
        if ((g.lo.size() != 1 && g.lo.size() != g.names.size()) || (g.hi.size() != 1 && g.hi.size() != g.names.size()))
            return "give --lo and --hi once, or once for each --app_name";
        const auto lo = parse_int(g.lo[g.lo.size() == 1 ? 0 : i]), hi = parse_int(g.hi[g.hi.size() == 1 ? 0 : i]);
        if (!lo || !hi) return "--lo and --hi must be whole numbers";
        o.apps.push_back({g.names[i], {*lo, *hi}});
        if (const std::string wrong = check_marks(o.apps.back().marks); !wrong.empty()) return wrong;
    }
    if (g.sleep_time <= 0 && !daemon.one_pass && !o.dry_run) return "--sleep_time is required and must be above 0";
    daemon.sleep_interval = std::min(g.sleep_time, 1e6);
    if (g.random) o.order = ReleaseOrder::kRandom;
    if (g.ascending) o.order = ReleaseOrder::kPriorityAscending;
    if (g.priority) o.order = ReleaseOrder::kPriorityDescending;
    if (g.create_time) o.order = ReleaseOrder::kPriorityThenWorkunit;
    return "";
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
    using namespace sluice;
    Given given;
    Options options;
    DaemonSettings daemon;
    daemon.name = "size_regulator";
    CommandLine line("size_regulator", "regulate the flow of jobs of each size class",
                     "When fewer than --lo results of a size class are UNSENT, INACTIVE ones are made UNSENT until there are "
                     "--hi. A change of n_size_classes is noticed while it runs.");
    define_options(line, given, options, daemon);
    try {
        log_open({});
        if (const auto status = line.parse(argc, argv)) return *status;
        if (const std::string wrong = take(given, options, daemon); !wrong.empty()) return line.fail(wrong);
        if (options.dry_run) daemon.one_pass = true;
        daemon.project = find_project_dir();
        const ProjectConfig config = load_config_and_warn(daemon.project);
        Database db(db_settings(config));
        const auto store = make_size_regulator_store(db);
        SystemClock clock;
        const auto rng = make_system_rng();
        Regulator regulator(options, *store, clock);
        bool checked = false, refused = false;
        const int status = run_daemon(daemon, {clock, *rng}, [&] {
            try {
                if (!checked) regulator.check_apps();
            } catch (const ConfigError& e) {
                log_critical("{}", e.what());
                refused = true;  // a name that is wrong stays wrong: upstream's exit status
                return PassResult::kFinished;
            }
            checked = true;
            return regulator.pass();
        });
        return refused ? 1 : status;
    } catch (const std::exception& e) {
        log_critical("{}", e.what());
        return 1;
    }
}
