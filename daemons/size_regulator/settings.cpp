// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/size_regulator/settings.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "config/config_element.h"
#include "config/project_config.h"
#include "sluice/base/error.h"
#include "sluice/base/log.h"
#include "sluice/base/text.h"

namespace sluice {
namespace {

constexpr double kLongestSleep = 1e6;  // upstream's

/// The value for app `i`: given once for all, or once for each.
std::string of_app(const std::vector<std::string>& given, std::size_t i) {
    return given.empty() ? "" : given[given.size() == 1 ? 0 : i];
}

std::string check_sleep(std::optional<double> seconds) {
    return seconds && *seconds > 0 ? "" : "--sleep_time is required and must be above 0";
}

std::optional<ReleaseOrder> order_named(std::string_view name) {
    if (name == "random_order") return ReleaseOrder::kRandom;
    if (name == "priority_asc") return ReleaseOrder::kPriorityAscending;
    if (name == "priority_order") return ReleaseOrder::kPriorityDescending;
    if (name == "priority_order_create_time") return ReleaseOrder::kPriorityThenWorkunit;
    return std::nullopt;
}

RegulatedApp read_app(const ConfigElement& section, const ConfigElement& entry, const std::string& file) {
    RegulatedApp app;
    app.name = entry.child_text("name");
    const auto fail = [&](const std::string& problem) {
        throw ConfigError(fmt::format("{}: <size_regulator>, app '{}': {}", file, app.name, problem));
    };
    if (app.name.empty()) fail("<name> is missing");
    const auto lo = parse_int(entry.child_text("lo")), hi = parse_int(entry.child_text("hi"));
    if (!lo || !hi) fail("<lo> and <hi> must be whole numbers");
    app.marks = {*lo, *hi};
    if (const std::string wrong = check_marks(app.marks); !wrong.empty()) fail(wrong);
    const std::string own = entry.child_text("sleep_time");
    const auto sleep = parse_double(own.empty() ? section.child_text("sleep_time") : own);
    if (const std::string wrong = check_sleep(sleep); !wrong.empty()) fail(wrong);
    app.sleep_time = std::min(*sleep, kLongestSleep);
    for (const ConfigElement& child : entry.children) {
        if (const auto order = order_named(child.name)) {
            if (child.text != "0") app.order = *order;
        } else if (child.name != "name" && child.name != "lo" && child.name != "hi" && child.name != "sleep_time") {
            log_warning("{}: unknown element <{}> in <size_regulator> is ignored", file, child.name);
        }
    }
    return app;
}

}  // namespace

void RegulatorOptions::define(CommandLine& line) {
    line.repeatable(
        "--app_name", names_,
        "app to regulate; may be repeated, with its own --lo, --hi and --sleep_time. Without it: the apps of "
        "<size_regulator> in config.xml",
        "NAME");
    line.repeatable("--lo", lo_, "low-water mark: UNSENT jobs of a class (required)", "N");
    line.repeatable("--hi", hi_, "high-water mark (required)", "N");
    line.repeatable("--sleep_time", sleep_time_, "seconds between polls (required, unless --one_pass)", "X");
    line.flag("--random_order", random_, "release in random order");
    line.flag("--priority_asc", ascending_, "release low priorities first");
    line.flag("--priority_order", priority_, "release high priorities first");
    line.flag("--priority_order_create_time", create_time_, "high priorities first, then old workunits");
    line.flag("--reclassify", reclassify_, "give jobs of size classes that no longer exist the largest class");
    line.option("--debug_leveld", debug_level_, "--debug_level, as upstream's program spells it.");
    line.section(
        "FILES",
        "config.xml may hold, beside <config>:\n"
        "<size_regulator>\n"
        "    <sleep_time>10</sleep_time>\n"
        "    <app> <name>a</name> <lo>100</lo> <hi>500</hi> </app>\n"
        "    <app> <name>b</name> <lo>10</lo> <hi>50</hi> <sleep_time>60</sleep_time> <priority_order/> </app>\n"
        "</size_regulator>");
    line.section("EXIT STATUS",
                 "0 when it was asked to stop or --one_pass is done. 1: a wrong command line or section, an app that "
                 "is missing or has no size classes, and when --one_pass can't use the database.");
    line.section("EXAMPLES",
                 "size_regulator --app_name a --lo 100 --hi 500 --sleep_time 10\n"
                 "size_regulator --app_name a --lo 100 --hi 500 --app_name b --lo 10 --hi 50 --sleep_time 10");
}

std::string RegulatorOptions::take(const DaemonStart& start, RegulatorSettings& s) const {
    s.dry_run = start.dry_run, s.reclassify = reclassify_, s.one_pass = start.settings.one_pass;
    if (debug_level_ > 0) log_set_level(static_cast<LogLevel>(std::clamp(debug_level_, 1, 4)));
    for (std::size_t i = 0; i < names_.size(); ++i) {
        RegulatedApp app;
        app.name = names_[i];
        for (const auto* given : {&lo_, &hi_, &sleep_time_}) {
            if (given->size() > 1 && given->size() != names_.size())
                return "give --lo, --hi and --sleep_time once, or once for each --app_name";
        }
        if (lo_.empty() || hi_.empty()) return "--lo and --hi are required and must be above 0";
        const auto lo = parse_int(of_app(lo_, i)), hi = parse_int(of_app(hi_, i));
        if (!lo || !hi) return "--lo and --hi must be whole numbers";
        app.marks = {*lo, *hi};
        if (const std::string wrong = check_marks(app.marks); !wrong.empty()) return wrong;
        const auto sleep = parse_double(of_app(sleep_time_, i));
        if (const std::string wrong = check_sleep(sleep); !wrong.empty() && !s.one_pass) return wrong;
        app.sleep_time = std::min(sleep.value_or(1), kLongestSleep);
        if (random_) app.order = ReleaseOrder::kRandom;
        if (ascending_) app.order = ReleaseOrder::kPriorityAscending;
        if (priority_) app.order = ReleaseOrder::kPriorityDescending;
        if (create_time_) app.order = ReleaseOrder::kPriorityThenWorkunit;
        s.apps.push_back(std::move(app));
    }
    return "";
}

void take_shares(const ProjectConfig& config, RegulatorSettings& settings) {
    settings.by_shares = config.share_rule != ShareOrder::kOff;
    settings.share_floor = config.share_rule == ShareOrder::kSettled ? config.share_floor : 0;  // the seed has no draw
}

std::vector<RegulatedApp> regulated_apps(std::string_view config_xml, const std::string& file) {
    std::vector<RegulatedApp> apps;
    XmlReader reader(config_xml);
    for (auto kind = reader.next(); kind != XmlReader::Kind::kEof; kind = reader.next()) {
        if (kind != XmlReader::Kind::kStart) continue;
        if (reader.name() == "size_regulator") {
            const ConfigElement section = read_element(reader, config_xml, file);
            for (const ConfigElement& entry : section.children) {
                if (entry.name == "app")
                    apps.push_back(read_app(section, entry, file));
                else if (entry.name != "sleep_time")
                    log_warning("{}: unknown element <{}> in <size_regulator> is ignored", file, entry.name);
            }
        } else if (reader.name() != "boinc") {
            skip_element(reader, config_xml, file);
        }
    }
    return apps;
}

}  // namespace sluice
