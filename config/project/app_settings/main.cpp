// SPDX-License-Identifier: LGPL-3.0-or-later
// app_settings: shows and changes what the database holds of an app that is there: its settings, and which of its
// versions are deprecated. (xadd only adds apps; upstream has web pages for this.)
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>

#include "config/db_settings.h"
#include "config/load.h"
#include "config/project/project_xml.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/project.h"
#include "sluice/base/text.h"
#include "sluice/daemon/program.h"
#include "sluice/db/project_setup_store.h"

namespace sluice {
namespace {

struct SettingArguments {
    std::vector<std::string> words;  ///< APP, then NAME=VALUE
    std::int64_t version = 0;        ///< 0: the app itself
    std::string platform, plan_class;
    bool any_plan_class = true;
};

std::vector<Setting> settings_of(const SettingArguments& arguments) {
    std::vector<Setting> settings;
    for (std::size_t i = 1; i < arguments.words.size(); ++i) {
        const std::string& word = arguments.words[i];
        const std::size_t equals = word.find('=');
        if (equals == std::string::npos) throw ConfigError("'" + word + "' is not NAME=VALUE, as in n_size_classes=5");
        settings.push_back({word.substr(0, equals), word.substr(equals + 1)});
    }
    return settings;
}

void show(const App& app) {
    fmt::print("{} (id {})\n", app.name, app.id);
    const auto line = [](const char* name, const auto& value) { fmt::print("  {}={}\n", name, value); };
    line("user_friendly_name", app.user_friendly_name);
    line("min_version", app.min_version);
    line("deprecated", app.deprecated ? 1 : 0);
    line("homogeneous_redundancy", static_cast<int>(app.homogeneous_redundancy));
    line("weight", app.weight);
    line("beta", app.beta ? 1 : 0);
    line("target_nresults", app.target_nresults);
    line("host_scale_check", app.host_scale_check ? 1 : 0);
    line("homogeneous_app_version", app.homogeneous_app_version ? 1 : 0);
    line("non_cpu_intensive", app.non_cpu_intensive ? 1 : 0);
    line("locality_scheduling", app.locality_scheduling);
    line("n_size_classes", app.n_size_classes);
    line("fraction_done_exact", app.fraction_done_exact ? 1 : 0);
}

class Tool {
  public:
    Tool(ProjectSetupStore& store, const SettingArguments& arguments) : store_(store), arguments_(arguments) {
        for (const Platform& platform : store.platforms()) platforms_[platform.id] = platform.name;
        app_ = named(arguments.words[0]);
    }

    /// True if something was changed.
    bool run() {
        const std::vector<Setting> settings = settings_of(arguments_);
        if (arguments_.version != 0) return change_versions(settings);
        if (settings.empty()) {
            show(app_);
            for (const AppVersion& version : store_.versions(app_.id)) show_version(version);
            return false;
        }
        const App changed = with_settings(app_, settings);
        store_.write_settings(changed);
        show(changed);
        return true;
    }

  private:
    App named(const std::string& name) const {
        const std::vector<App> apps = store_.apps();
        const auto found = std::ranges::find(apps, name, &App::name);
        if (found != apps.end()) return *found;
        std::vector<std::string> names;
        for (const App& app : apps) names.push_back(app.name);
        throw ConfigError(fmt::format("there is no app '{}'; there are: {}", name,
                                      names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))));
    }

    bool change_versions(const std::vector<Setting>& settings) {
        const bool fits = settings.size() == 1 && settings[0].name == "deprecated" &&
                          (settings[0].value == "0" || settings[0].value == "1");
        if (!fits) throw ConfigError("of versions only deprecated=0 or deprecated=1 can be set");
        std::vector<AppVersion> chosen = store_.versions(app_.id);
        std::erase_if(chosen, [&](const AppVersion& version) { return !is_meant(version); });
        if (chosen.empty())
            throw ConfigError(fmt::format("app '{}' has no such version: bin/app_settings {} shows those that it has",
                                          app_.name, app_.name));
        std::vector<Id> ids;
        for (AppVersion& version : chosen) {
            version.deprecated = settings[0].value == "1";
            ids.push_back(version.id);
        }
        store_.set_deprecated(ids, settings[0].value == "1");
        for (const AppVersion& version : chosen) show_version(version);
        return true;
    }

    bool is_meant(const AppVersion& version) const {
        const auto platform = platforms_.find(version.platformid);
        return version.version_num == arguments_.version &&
               (arguments_.platform.empty() ||
                (platform != platforms_.end() && platform->second == arguments_.platform)) &&
               (arguments_.any_plan_class || version.plan_class == arguments_.plan_class);
    }

    void show_version(const AppVersion& version) const {
        const auto platform = platforms_.find(version.platformid);
        fmt::print("  version {} {}{}{}{}{}\n", version.version_num,
                   platform == platforms_.end() ? "(unknown platform)" : platform->second,
                   version.plan_class.empty() ? "" : ", plan class ", version.plan_class, version.beta ? ", beta" : "",
                   version.deprecated ? ", deprecated" : "");
    }

    ProjectSetupStore& store_;
    const SettingArguments& arguments_;
    std::map<Id, std::string> platforms_;
    App app_;
};

int run(int argc, const char* const* argv) {
    CommandLine line(
        "app_settings", "Shows and changes the settings of an app, and deprecates versions",
        "Without NAME=VALUE: shows the app's settings and versions. With it: writes them to the database; the feeder "
        "takes the change up at once. Names as in project.xml: n_size_classes, weight, beta, deprecated, min_version, "
        "target_nresults, homogeneous_redundancy, homogeneous_app_version, non_cpu_intensive, user_friendly_name … "
        "A deprecated app gets no more work sent; a deprecated version no new jobs.");
    SettingArguments arguments;
    std::string plan_class = "*";
    line.option("--app_version", arguments.version, "Change this version of the app (on all platforms), not the app.");
    line.option("--platform", arguments.platform, "Only that platform's version.", "NAME");
    line.option("--plan_class", plan_class, "Only the version of that plan class; '' is none.", "NAME");
    line.positional("APP NAME=VALUE", arguments.words, "the app, and what to change");
    line.section("EXIT STATUS", "0: done. 1: there is no such app or version, or a value is not allowed.");
    line.section("EXAMPLES",
                 "app_settings render n_size_classes=5 weight=2\n"
                 "app_settings render --app_version 105 --platform windows_x86_64 deprecated=1");
    if (const auto status = line.parse(argc, argv)) return *status;
    if (arguments.words.empty()) return line.fail("name an app");
    arguments.any_plan_class = plan_class == "*";
    arguments.plan_class = plan_class;
    const fs::path project = find_project_dir();
    const ProjectConfig config = load_config_and_warn(project);
    Database db(db_settings(config));
    const auto store = make_project_setup_store(db);
    bool changed = false;
    db.transaction([&] { changed = Tool(*store, arguments).run(); });
    if (changed) ask_feeder_to_reread(project);
    return 0;
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
    return sluice::tool_main({}, [&] { return sluice::run(argc, argv); });
}
