// SPDX-License-Identifier: LGPL-3.0-or-later
#include "config/project/project_xml.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "config/config_element.h"
#include "sluice/base/error.h"
#include "sluice/base/text.h"

namespace sluice {
namespace {

struct XmlSource {
    std::string_view text;
    const std::string& name;
};

[[noreturn]] void refuse(const XmlSource& source, const ConfigElement& element, const std::string& problem) {
    throw ConfigError(
        fmt::format("{}: <{}>{}</{}> {}", source.name, element.name, element.text, element.name, problem));
}

std::string required_name(const XmlSource& source, const ConfigElement& element, std::size_t max_bytes) {
    const std::string name = element.child_text("name");
    const bool fits =
        !name.empty() && name.size() <= max_bytes && name.find_first_of("/ \t\n\"'<>&") == std::string::npos;
    if (!fits) {
        refuse(
            source, element,
            fmt::format("needs a <name> of at most {} bytes without blanks, quotes, slashes, <, > and &", max_bytes));
    }
    return name;
}

std::string friendly_name(const XmlSource& source, const ConfigElement& element, const std::string& fallback) {
    constexpr std::size_t kMostBytes = 254;  ///< of the column that is the shortest
    const std::string name = element.child_text("user_friendly_name");
    if (name.size() > kMostBytes)
        refuse(source, element, fmt::format("needs a <user_friendly_name> of at most {} bytes", kMostBytes));
    return name.empty() ? fallback : name;
}

/// True if the row is new. The same row may stand there again; the database takes names that differ in case for one.
bool is_first(const XmlSource& source, const ConfigElement& element, const std::string& name,
              std::map<std::string, std::string>& seen) {
    std::string settings;
    for (const ConfigElement& child : element.children) settings += child.name + "=" + child.text + "\n";
    const auto [known, is_new] = seen.try_emplace(element.name + " " + to_lower_ascii(name), settings);
    if (is_new || known->second == settings) return is_new;
    throw ConfigError(fmt::format("{}: <{}> {} is listed twice, with different settings: keep one of the two",
                                  source.name, element.name, name));
}

void refuse_others(const XmlSource& source, const ConfigElement& element,
                   std::initializer_list<std::string_view> known) {
    for (const ConfigElement& child : element.children) {
        if (std::ranges::find(known, child.name) == known.end()) {
            refuse(source, child,
                   fmt::format("is unknown in <{}>; it may hold {}", element.name, fmt::join(known, ", ")));
        }
    }
}

/// A whole number in a range, if the child is there.
void read_int(const XmlSource& source, const ConfigElement& element, const char* child_name, int max, int& target) {
    const ConfigElement* child = element.child(child_name);
    if (child == nullptr) return;
    const auto value = child->self_closing ? std::optional<std::int64_t>(1) : parse_int(child->text);
    if (!value || *value < 0 || *value > max) {
        refuse(source, *child, fmt::format("must be a whole number from 0 to {}", max));
    }
    target = static_cast<int>(*value);
}

void read_flag(const XmlSource& source, const ConfigElement& element, const char* child_name, bool& target) {
    int value = target ? 1 : 0;
    read_int(source, element, child_name, 1, value);
    target = value != 0;
}

Platform read_platform(const XmlSource& source, const ConfigElement& element) {
    refuse_others(source, element, {"name", "user_friendly_name", "deprecated"});
    Platform platform;
    platform.name = required_name(source, element, 191);
    platform.user_friendly_name = friendly_name(source, element, platform.name);
    read_flag(source, element, "deprecated", platform.deprecated);
    return platform;
}

/// What `element` does not hold stays as it is in `app`.
App read_settings(const XmlSource& source, const ConfigElement& element, App app) {
    refuse_others(source, element,
                  {"name", "user_friendly_name", "min_version", "deprecated", "homogeneous_redundancy", "weight",
                   "beta", "target_nresults", "host_scale_check", "homogeneous_app_version", "non_cpu_intensive",
                   "locality_scheduling", "n_size_classes", "fraction_done_exact"});
    app.user_friendly_name = friendly_name(source, element, app.user_friendly_name);
    int hr = static_cast<int>(app.homogeneous_redundancy);
    read_int(source, element, "homogeneous_redundancy", 2, hr);
    app.homogeneous_redundancy = static_cast<HrType>(hr);
    read_int(source, element, "min_version", 2147483647, app.min_version);
    read_int(source, element, "target_nresults", 32767, app.target_nresults);
    read_int(source, element, "locality_scheduling", 32767, app.locality_scheduling);
    read_int(source, element, "n_size_classes", 1000, app.n_size_classes);
    read_flag(source, element, "deprecated", app.deprecated);
    read_flag(source, element, "beta", app.beta);
    read_flag(source, element, "host_scale_check", app.host_scale_check);
    read_flag(source, element, "homogeneous_app_version", app.homogeneous_app_version);
    read_flag(source, element, "non_cpu_intensive", app.non_cpu_intensive);
    read_flag(source, element, "fraction_done_exact", app.fraction_done_exact);
    if (const ConfigElement* weight = element.child("weight")) {
        const auto value = parse_double(weight->text);
        if (!value || !(*value >= 0 && *value <= 1e9)) refuse(source, *weight, "must be a number from 0 to 1e9");
        app.weight = *value;
    }
    return app;
}

App read_app(const XmlSource& source, const ConfigElement& element) {
    App app;
    app.name = required_name(source, element, 191);
    app.user_friendly_name = app.name;
    return read_settings(source, element, std::move(app));
}

}  // namespace

App with_settings(App app, const std::vector<Setting>& settings) {
    ConfigElement element;
    element.name = "app";
    for (const Setting& setting : settings) {
        if (element.child(setting.name) != nullptr) throw ConfigError(setting.name + " is given twice");
        ConfigElement child;
        child.name = setting.name;
        child.text = setting.value;
        element.children.push_back(std::move(child));
    }
    static const std::string kCommandLine = "command line";
    if (element.child("name") != nullptr) throw ConfigError("the name of an app can't be changed: results hold it");
    return read_settings({"", kCommandLine}, element, std::move(app));
}

ProjectXml parse_project_xml(std::string_view text, const std::string& name) {
    const XmlSource source{text, name};
    ProjectXml found;
    XmlReader reader(text);
    std::map<std::string, std::string> seen;  // kind and name -> text
    bool is_root = false;
    for (XmlReader::Kind kind = reader.next(); kind != XmlReader::Kind::kEof; kind = reader.next()) {
        if (kind != XmlReader::Kind::kStart) continue;
        if (reader.name() == "boinc" && !is_root) {
            is_root = true;
            continue;
        }
        const ConfigElement element = read_element(reader, text, name);
        if (element.name == "platform") {
            Platform platform = read_platform(source, element);
            if (is_first(source, element, platform.name, seen)) found.platforms.push_back(std::move(platform));
        } else if (element.name == "app") {
            App app = read_app(source, element);
            if (is_first(source, element, app.name, seen)) found.apps.push_back(std::move(app));
        } else {
            refuse(source, element, "is unknown here: <platform> and <app> are");
        }
    }
    if (!is_root) throw ConfigError(name + ": there is no <boinc> element");
    return found;
}

}  // namespace sluice
