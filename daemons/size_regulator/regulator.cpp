// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/size_regulator/regulator.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "daemons/size_regulator/share_release.h"
#include "sluice/base/log.h"

namespace sluice {
namespace {

constexpr int kReclassifyBatch = 1000;
constexpr double kSleep = 5;  ///< s, at least, after a failure

/// Where only some apps are due earlier the program goes on with them; after an error all may wait.
double longest_sleep(const std::vector<RegulatedApp>& apps) {
    double longest = kSleep;
    for (const RegulatedApp& app : apps) longest = std::max(longest, app.sleep_time);
    return longest;
}

}  // namespace

Regulator::Regulator(const RegulatorSettings& settings, SizeRegulatorStore& store, const Clock& clock)
    : Service(longest_sleep(settings.apps)), settings_(settings), store_(store), clock_(clock) {
    for (const RegulatedApp& app : settings.apps) watched_.emplace(app.name, Watched{Periodic(app.sleep_time)});
}

std::string Regulator::check_apps() {
    for (const RegulatedApp& regulated : settings_.apps) {
        const auto app = store_.app(regulated.name);
        if (!app) return "there is no app named '" + regulated.name + "'";
        if (app->size_classes() == 0 && !settings_.reclassify)
            return fmt::format("app {} has no size classes (n_size_classes is {}): nothing to regulate", app->name,
                               app->n_size_classes);
        watched(regulated.name).classes = app->size_classes();
    }
    return "";
}

TurnResult Regulator::pass() {
    if (!checked_) {
        const std::string wrong = check_apps();
        if (!wrong.empty()) log_critical("{}", wrong);
        if (!wrong.empty()) return TurnResult::kFailed;  // a name that is wrong stays wrong
        checked_ = true;
    }
    const double started = clock_.now();
    std::int64_t released = 0;
    bool again = false;
    int polled = 0;
    for (const RegulatedApp& regulated : settings_.apps) {
        if (stop_requested()) return TurnResult::kIdle;
        Watched& state = watched(regulated.name);
        if (!settings_.one_pass && !state.poll.due(clock_.now())) continue;
        ++polled;
        bool again_here = false;
        auto app = store_.app(regulated.name);
        if (!app) {
            if (!std::exchange(state.gone, true))
                log_warning("app {} is gone from the database; the others go on", regulated.name);
            state.poll.restart(state.polled = clock_.now());
            continue;
        }
        state.gone = false;
        app->name = regulated.name;  // however the database spells it
        note_classes(*app);
        released += regulate(*app, regulated, again_here);
        look_after_orphans(*app);
        // What was released to the last job wanted may have been cut short by a limit: looked at again at once.
        again_here ? state.poll.make_due() : state.poll.restart(state.polled = clock_.now());
        again = again || again_here;
    }
    // A poll that finds enough of every class is no news, except to the admin who asked for one.
    const bool news = released > 0 || (settings_.one_pass && released_ == 0);
    released_ += released;
    log_at(news ? LogLevel::kNormal : LogLevel::kDebug, "pass: {} apps, {} jobs released in {:.3f} s", polled, released,
           clock_.now() - started);
    return again && !settings_.dry_run ? TurnResult::kWorked : TurnResult::kIdle;
}

double Regulator::wait() const {
    const double now = clock_.now();
    double least = interval();
    for (const auto& [name, app] : watched_)
        least = std::min(least, app.poll.due(now) ? 0 : app.polled + app.poll.interval() - now);
    return least;
}

void Regulator::note_classes(const App& app) {
    const int now = app.size_classes();
    const int before = std::exchange(watched(app.name).classes, now);
    if (now == before) return;
    log_normal("app {} has {} size classes now (it had {})", app.name, now, before);
    watched(app.name).orphan_look.make_due();
    store_.look_everywhere(app.id);
}

std::int64_t Regulator::regulate(const App& app, const RegulatedApp& wish, bool& again) {
    // Most polls find every class above its low mark: seen without locking the app.
    const auto unsent = store_.unsent(app.id);
    std::vector<Release> plan = plan_release(app.size_classes(), unsent, wish.marks);
    for (int i = 0; i < app.size_classes(); ++i) {
        const auto found = unsent.find(i);
        log_at(plan.empty() ? LogLevel::kDebug : LogLevel::kNormal, "{} unsent for class {} ({})",
               found == unsent.end() ? 0 : found->second, i, app.name);
    }
    if (plan.empty() && (!by_shares(wish) || settings_.dry_run)) return 0;
    if (settings_.dry_run) {
        for (const Release& r : plan)
            fmt::print("{} class {}: would release up to {}\n", app.name, r.size_class, r.wanted);
        return 0;
    }
    std::int64_t total = 0;
    const auto released = release(app, wish, plan);
    for (const Release& r : plan) {
        const auto found = released.find(r.size_class);
        const std::int64_t n = found == released.end() ? 0 : found->second;
        total += n;
        again = again || (n > 0 && n >= r.wanted);
        report(app, r, n);
    }
    return total;
}

/// By class. `plan`: becomes what was decided under the lock.
std::map<int, std::int64_t> Regulator::release(const App& app, const RegulatedApp& wish, std::vector<Release>& plan) {
    if (by_shares(wish))
        if (const ReleasePlaces places = store_.places(clock_.now()); !places.empty())
            return release_by_shares(app, wish, places, plan);
    if (plan.empty()) return {};
    const auto numbers = store_.release(app.id, wish.order, [&](const std::map<int, std::int64_t>& unsent) {
        plan = plan_release(app.size_classes(), unsent, wish.marks);
        std::vector<std::pair<int, std::int64_t>> wanted;
        for (const Release& r : plan) wanted.emplace_back(r.size_class, r.wanted);
        return wanted;
    });
    std::map<int, std::int64_t> released;
    for (std::size_t i = 0; i < numbers.size(); ++i) released[plan[i].size_class] = numbers[i];
    return released;
}

std::map<int, std::int64_t> Regulator::release_by_shares(const App& app, const RegulatedApp& wish,
                                                         const ReleasePlaces& places, std::vector<Release>& plan) {
    std::map<int, double> reserve;
    int calls = 0;
    std::map<int, std::int64_t> decided;
    const auto released = store_.release_queues(app.id, wish.marks.high, [&](const std::vector<ClassQueue>& queues) {
        const std::vector<Release> wanted = wanted_by_shares(app.size_classes(), wish.marks, queues, places);
        // The first call was a look. A call after a release wants what is left of it, and what others sent meanwhile:
        // more may be released than any call wanted.
        if (++calls <= 2) decided.clear();
        for (const Release& r : wanted) decided[r.size_class] = std::max(decided[r.size_class], r.wanted);
        reserve = watched(app.name).reserve;
        return plan_by_shares(wanted, queues, {places, settings_.share_floor}, reserve);
    });
    watched(app.name).reserve = reserve;
    plan.clear();
    for (const auto& [size_class, wanted] : decided) plan.push_back({size_class, wanted});
    return released;
}

void Regulator::report(const App& app, const Release& r, std::int64_t released) {
    if (released > 0) {
        log_normal("releasing {} jobs of size class {} ({})", r.wanted, r.size_class, app.name);
        log_normal("{} jobs released", released);
    }
    std::set<int>& dry = watched(app.name).dry;
    if (released < r.wanted && dry.insert(r.size_class).second)
        log_normal("{} class {}: {} more were wanted, no INACTIVE job of that size is left", app.name, r.size_class,
                   r.wanted - released);
    else if (released >= r.wanted)
        dry.erase(r.size_class);
}

void Regulator::look_after_orphans(const App& app) {
    Watched& state = watched(app.name);
    if (!state.orphan_look.take(clock_.now())) return;
    store_.look_everywhere(app.id);
    std::int64_t total = 0;
    std::string by_class;
    for (const auto& [size_class, n] : store_.orphans(app.id, app.size_classes())) {
        total += n;
        by_class += fmt::format("{}class {}: {}", by_class.empty() ? "" : ", ", size_class, n);
    }
    if (total == 0 || !settings_.reclassify) {
        if (total != state.orphans && total > 0)
            log_warning(
                "app {}: {} jobs are of size classes that do not exist ({}; it has {}); nobody releases them; "
                "size_regulator --reclassify gives them the largest class",
                app.name, total, by_class, app.size_classes());
        state.orphans = total;
        return;
    }
    const int new_class = app.size_classes() - 1;
    if (settings_.dry_run) {
        fmt::print("{}: would give {} jobs size class {}\n", app.name, total, new_class);
        return;
    }
    std::int64_t moved = 0, part = 0;
    while (!stop_requested() && (part = store_.reclassify(app.id, app.size_classes(), new_class, kReclassifyBatch)) > 0)
        moved += part;
    store_.look_everywhere(app.id);
    log_normal("app {}: {} jobs were given size class {}", app.name, moved, new_class);
}

}  // namespace sluice
