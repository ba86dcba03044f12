// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/size_census/size_census.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/log.h"
#include "sluice/daemon/daemon.h"

namespace sluice {
namespace {

double fraction(double v) { return v > 0 ? std::min(v, 1.0) : 0; }  // NaN compares false: 0

}  // namespace

double availability(const SpeedRecord& r, const ResourceOf& resource) {
    const ProcType type = r.anonymous_type >= 0 ? static_cast<ProcType>(r.anonymous_type) : resource(r.plan_class);
    const double active =
        type == ProcType::kCpu || fraction(r.gpu_active_frac) == 0 ? r.active_frac : r.gpu_active_frac;
    return fraction(r.on_frac) * fraction(active);
}

double effective_speed(const SpeedRecord& r, const ResourceOf& resource) {
    if (!(r.et_avg > 0)) return 0;
    const double speed = availability(r, resource) / r.et_avg;
    return std::isfinite(speed) ? speed : 0;
}

std::vector<double> quantiles(std::vector<double>& speeds, int classes, bool between) {
    std::vector<double> points;
    if (speeds.empty()) return points;
    auto from = speeds.begin();
    for (int i = 1; i < classes; ++i) {
        // Each nth_element works on what lies right of the last point: linear, where a full sort is not needed.
        const auto at = speeds.begin() + static_cast<std::ptrdiff_t>(speeds.size() * static_cast<std::size_t>(i) /
                                                                     static_cast<std::size_t>(classes));
        std::nth_element(from, at, speeds.end());
        const bool same = at == from && !points.empty();
        const double slower = between && at != from ? *std::max_element(from, at) : *at;
        points.push_back(same ? points.back() : slower + (*at - slower) / 2);
        from = at;
    }
    return points;
}

std::string census_text(const std::vector<double>& points) {
    std::string text;
    for (const double q : points) {
        std::string line = fmt::format("{:e}", q);  // 1.500000e+09
        const std::size_t digits = line.find_first_of("+-", 1) + 1;
        const std::size_t first = std::min(line.find_first_not_of('0', digits), line.size() - 1);
        line.erase(digits, first - digits);
        text += line + '\n';
    }
    return text;
}

namespace {

/// Upstream's filter at level 0: hosts that have been at work lately.
constexpr double kMinRecentCredit = 10;

}  // namespace

bool SizeCensus::run() {
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
        return !failed_;
    }
    log_normal("{} apps, {} devices, {:.3f} s", apps.size(), devices, clock_.now() - started);
    return !failed_;
}

/// A file that can't be written is no reason to leave the other apps without.
std::size_t SizeCensus::census_or_complaint(const App& app) {
    try {
        return census(app);
    } catch (const FileError& e) {
        log_critical("app {}: {}", app.name, e.what());
        failed_ = true;
        return 0;
    }
}

std::size_t SizeCensus::census(const App& app) {
    std::vector<double> speeds;
    const auto resource = [this](const std::string& plan_class) { return classes_.resource(plan_class, level_); };
    store_.speeds(app.id, level_ >= 1 ? -1 : kMinRecentCredit, level_ >= 1, [&](const SpeedRecord& r) {
        if (stop_requested()) throw Stopped();
        speeds.push_back(effective_speed(r, resource));
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

void SizeCensus::write(const App& app, std::vector<double>& speeds) {
    const std::size_t n = speeds.size();
    const std::string text = census_text(quantiles(speeds, app.size_classes(), level_ >= 1));
    const auto file = project_ / ("size_census_" + app.name);
    if (options_.dry_run) {
        fmt::print("{} ({} devices):\n{}", file.string(), n, text);
        return;
    }
    write_file_atomically(file, text);
    log_normal("app {}: {} devices, {} size classes: {} written", app.name, n, app.size_classes(), file.string());
}

void SizeCensus::advise_on(const App& app, std::vector<double>& speeds) {
    const Advice advice = advise(speeds, options_.wish);
    fmt::print("{}{}", advice_text(app.name, advice, options_.wish), histogram_text(speeds));
    if (!options_.svg.empty()) write_file_atomically(picture_of(app), histogram_svg(app.name, speeds, advice));
}

/// With several apps each has its own: speeds.svg is speeds_APP.svg.
std::filesystem::path SizeCensus::picture_of(const App& app) const {
    std::filesystem::path file = options_.svg;
    if (several_) file.replace_filename(file.stem().string() + "_" + app.name + file.extension().string());
    return file;
}

}  // namespace sluice
