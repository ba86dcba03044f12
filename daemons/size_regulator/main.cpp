// size_regulator: keeps the number of sendable jobs of each size class between two water marks, by making INACTIVE
// results UNSENT. Upstream's program of that name; several apps in one process; two at once never exceed the marks.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "config/db_settings.h"
#include "config/load.h"
#include "daemons/size_regulator/settings.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/log.h"
#include "sluice/base/project.h"
#include "sluice/daemon/daemon.h"

namespace sluice {
namespace {

constexpr int kReclassifyBatch = 1000;
constexpr double kOrphanInterval = 600;  // s

class Regulator {
  public:
    Regulator(const RegulatorSettings& settings, SizeRegulatorStore& store, Clock& clock)
        : settings_(settings), store_(store), clock_(clock) {}

    /// Upstream refuses to start for an app that is missing or has no classes; so do we.
    void check_apps() {
        for (const RegulatedApp& regulated : settings_.apps) {
            const auto app = store_.app(regulated.name);
            if (!app) throw ConfigError("there is no app named '" + regulated.name + "'");
            if (app->size_classes() == 0 && !settings_.reclassify)
                throw ConfigError(fmt::format("app {} has no size classes (n_size_classes is {}): nothing to regulate",
                                              app->name, app->n_size_classes));
            classes_[app->name] = app->size_classes();
        }
    }

    PassResult pass() {
        const double started = clock_.now();
        std::int64_t released = 0;
        bool again = false;
        int polled = 0;
        for (const RegulatedApp& regulated : settings_.apps) {
            if (stop_requested()) return PassResult::kIdle;
            double& next_poll = next_poll_[regulated.name];
            if (!settings_.one_pass && !is_due(next_poll, regulated)) continue;
            ++polled;
            bool again_here = false;
            const auto app = store_.app(regulated.name);
            if (!app) {
                if (gone_.insert(regulated.name).second)
                    log_warning("app {} is gone from the database; the others go on", regulated.name);
                next_poll = clock_.now() + regulated.sleep_time;
                continue;
            }
            gone_.erase(regulated.name);
            note_classes(*app);
            released += regulate(*app, regulated, again_here);
            look_after_orphans(*app);
            // What was released to the last job wanted may have been cut short by a limit: looked at again at once.
            next_poll = again_here ? 0 : clock_.now() + regulated.sleep_time;
            again = again || again_here;
        }
        // A poll that finds enough of every class is no news, except to whoever asked for one.
        const bool news = released > 0 || (settings_.one_pass && released_ == 0);
        released_ += released;
        log_at(news ? LogLevel::kNormal : LogLevel::kDebug, "pass: {} apps, {} jobs released in {:.3f} s", polled,
               released, clock_.now() - started);
        return again && !settings_.dry_run ? PassResult::kWorked : PassResult::kIdle;
    }

    /// An app's next poll has come.
    bool due() const {
        return std::any_of(settings_.apps.begin(), settings_.apps.end(), [&](const RegulatedApp& app) {
            const auto next = next_poll_.find(app.name);
            return next == next_poll_.end() || is_due(next->second, app);
        });
    }

  private:
    /// Also when the clock was set back.
    bool is_due(double next, const RegulatedApp& app) const {
        return clock_.now() >= next || next > clock_.now() + app.sleep_time;
    }
    void note_classes(const App& app) {
        const int now = app.size_classes();
        int& before = classes_[app.name];
        if (now != before) log_normal("app {} has {} size classes now (it had {})", app.name, now, before);
        if (now != before) {
            next_orphan_look_[app.name] = 0;
            store_.look_everywhere(app.id);
        }
        before = now;
    }

    std::int64_t regulate(const App& app, const RegulatedApp& wish, bool& again) {
        std::vector<Release> plan;
        const auto decide = [&](const std::map<int, std::int64_t>& unsent) {
            plan = plan_release(app.size_classes(), unsent, wish.marks);
            std::vector<std::pair<int, std::int64_t>> wanted;
            for (const Release& r : plan) wanted.emplace_back(r.size_class, r.wanted);
            return wanted;
        };
        // Most polls find every class above its low mark: seen without locking the app.
        const auto unsent = store_.unsent(app.id);
        decide(unsent);
        for (int i = 0; i < app.size_classes(); ++i) {
            const auto found = unsent.find(i);
            log_at(plan.empty() ? LogLevel::kDebug : LogLevel::kNormal, "{} unsent for class {} ({})",
                   found == unsent.end() ? 0 : found->second, i, app.name);
        }
        if (plan.empty()) return 0;
        if (settings_.dry_run) {
            for (const Release& r : plan)
                fmt::print("{} class {}: would release up to {}\n", app.name, r.size_class, r.wanted);
            return 0;
        }
        const auto released = store_.release(app.id, wish.order, decide);
        std::int64_t total = 0;
        for (std::size_t i = 0; i < released.size(); ++i) {
            total += released[i];
            again = again || (released[i] > 0 && released[i] == plan[i].wanted);
            report(app, plan[i], released[i]);
        }
        return total;
    }

    void report(const App& app, const Release& r, std::int64_t released) {
        if (released > 0) {
            log_normal("releasing {} jobs of size class {} ({})", r.wanted, r.size_class, app.name);
            log_normal("{} jobs released", released);
        }
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
        store_.look_everywhere(app.id);
        std::int64_t total = 0;
        std::string by_class;
        for (const auto& [size_class, n] : store_.orphans(app.id, app.size_classes())) {
            total += n;
            by_class += fmt::format("{}class {}: {}", by_class.empty() ? "" : ", ", size_class, n);
        }
        if (total == 0 || !settings_.reclassify) {
            if (total != orphans_[app.name] && total > 0)
                log_warning(
                    "app {}: {} jobs are of size classes that do not exist ({}; it has {}); nobody releases them; "
                    "size_regulator --reclassify gives them the largest class",
                    app.name, total, by_class, app.size_classes());
            orphans_[app.name] = total;
            return;
        }
        const int new_class = app.size_classes() - 1;
        if (settings_.dry_run) {
            fmt::print("{}: would give {} jobs size class {}\n", app.name, total, new_class);
            return;
        }
        std::int64_t moved = 0, part = 0;
        while (!stop_requested() &&
               (part = store_.reclassify(app.id, app.size_classes(), new_class, kReclassifyBatch)) > 0)
            moved += part;
        store_.look_everywhere(app.id);
        log_normal("app {}: {} jobs were given size class {}", app.name, moved, new_class);
    }

    const RegulatorSettings& settings_;
    SizeRegulatorStore& store_;
    Clock& clock_;
    std::map<std::string, int> classes_;
    std::map<std::string, std::int64_t> orphans_;
    std::map<std::string, double> next_orphan_look_, next_poll_;
    std::set<std::string> gone_;                 ///< apps that were reported as gone
    std::int64_t released_ = 0;                  ///< in all passes
    std::set<std::pair<std::string, int>> dry_;  ///< classes that were reported as having no INACTIVE job left
};

std::vector<RegulatedApp> apps_of_config(const std::filesystem::path& project) {
    const std::filesystem::path file = project / "config.xml";
    return regulated_apps(read_file(file).value_or(""), file.string());
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
    using namespace sluice;
    RegulatorOptions options;
    RegulatorSettings settings;
    CommandLine line(
        "size_regulator", "regulate the flow of jobs of each size class",
        "When fewer than --lo results of a size class are UNSENT, INACTIVE ones are made UNSENT until there are "
        "--hi. A change of n_size_classes is noticed while it runs.");
    options.define(line);
    try {
        log_open({});
        if (const auto status = line.parse(argc, argv)) return *status;
        if (const std::string wrong = options.take(settings); !wrong.empty()) return line.fail(wrong);
        DaemonSettings daemon;
        daemon.name = "size_regulator";
        daemon.one_pass = settings.one_pass;
        daemon.project = find_project_dir();
        if (!options.names_apps()) settings.apps = apps_of_config(daemon.project);
        if (settings.apps.empty()) return line.fail("--app_name is required, or <size_regulator> in config.xml");
        for (const RegulatedApp& app : settings.apps) {
            daemon.sleep_interval = std::max(daemon.sleep_interval, app.sleep_time);  // woken up by what is due earlier
            daemon.wake_poll = std::min(daemon.wake_poll, app.sleep_time);
        }
        const ProjectConfig config = load_config_and_warn(daemon.project);
        Database db(db_settings(config));
        const auto store = make_size_regulator_store(db);
        SystemClock clock;
        const auto rng = make_system_rng();
        Regulator regulator(settings, *store, clock);
        bool checked = false, refused = false;
        const auto pass = [&] {
            try {
                if (!checked) regulator.check_apps();
            } catch (const ConfigError& e) {
                log_critical("{}", e.what());
                refused = true;  // a name that is wrong stays wrong: upstream's exit status
                return PassResult::kFinished;
            }
            checked = true;
            return regulator.pass();
        };
        const int status = run_daemon(daemon, {clock, *rng}, pass, [&] { return regulator.due(); });
        return refused ? 1 : status;
    } catch (const std::exception& e) {
        log_critical("{}", e.what());
        return 1;
    }
}
