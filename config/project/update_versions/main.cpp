// SPDX-License-Identifier: LGPL-3.0-or-later
// update_versions: app versions that admins have laid out under apps/ and that are not yet in the database
// are signed, copied to the download folder and added. A broken one is named and does not keep the others from
// going live.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <iostream>

#include "config/db_settings.h"
#include "config/load.h"
#include "config/project/download_files.h"
#include "config/project/install_version.h"
#include "sluice/base/clock.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/project.h"
#include "sluice/base/users.h"
#include "sluice/daemon/program.h"
#include "sluice/db/column_size.h"
#include "sluice/match/plan_classes.h"

namespace sluice {
namespace {

struct UpdateOptions {
    bool noconfirm = false, verbose = false;
};

class Updater {
  public:
    Updater(const fs::path& project, const ProjectConfig& config, UpdateOptions options)
        : project_(project),
          config_(config),
          options_(options),
          db_(db_settings(config)),
          store_(make_project_setup_store(db_)),
          keys_{fs::path(config.key_dir) / "code_sign_private", fs::path(config.key_dir) / "code_sign_public"} {}

    /// True if nothing went wrong.
    bool run() {
        platforms_ = store_->platforms();
        for (const Platform& platform : platforms_) platform_names_.push_back(platform.name);
        apps_ = store_->apps();
        std::vector<std::string> skipped;
        const std::vector<VersionFolder> folders = find_version_folders(config_.app_dir, skipped);
        for (const std::string& line : skipped) fmt::print("{}\n", line);
        for (const VersionFolder& folder : folders) try_folder(folder);
        if (added_ > 0) ask_feeder_to_reread(project_);
        fmt::print("{} app version(s) added, {} in the database already, {} failed\n", added_, known_, failed_);
        return failed_ == 0;
    }

  private:
    void try_folder(const VersionFolder& folder) {
        try {
            handle(folder);
        } catch (const ConfigError& error) {
            ++failed_;
            std::fflush(stdout);
            fmt::print(stderr, "{}\n", error.what());
        }
    }

    void handle(VersionFolder folder) {
        split_platform(folder, platform_names_);
        AppVersion version;
        version.appid = id_of(apps_, folder.app, folder, "app");
        version.platformid = id_of(platforms_, folder.platform, folder, "platform");
        version.version_num = folder.version_num;
        version.plan_class = folder.plan_class;
        if (store_->find_version(version)) {
            ++known_;
            if (options_.verbose) fmt::print("{}: in the database already\n", folder.path.string());
            return;
        }
        VersionSpec spec = read_and_warn(folder.path);
        if (spec.api_version.empty()) spec.api_version = api_version_of(spec);
        if (const std::string away = missing_download_files(config_, *store_); !away.empty()) throw FileError(away);
        std::vector<FileFacts> facts = sign_and_check(spec, keys_, config_.download_dir);
        describe(folder, spec);
        warn_of_plan_class(folder);
        if (!options_.noconfirm && !confirmed()) return;
        copy_files(spec, config_.download_dir, facts);
        version.beta = spec.beta;
        version.xml_doc = app_version_doc(folder, spec, facts, config_.download_url);
        if (const std::string why = column_.refusal(version.xml_doc.size()); !why.empty())
            throw ConfigError(fmt::format("{}: its XML, with {} files: {}", folder.path.string(), facts.size(), why));
        const Id id = store_->add_version(version, SystemClock().now_sec());
        ++added_;
        fmt::print("Added as app version {}\n", id);
    }

    static VersionSpec read_and_warn(const fs::path& folder) {
        std::vector<std::string> warnings;
        const auto tell = [&] {
            std::fflush(stdout);
            for (const std::string& warning : warnings) fmt::print(stderr, "{}\n", warning);
        };
        try {
            VersionSpec spec = read_version(folder, warnings);
            tell();
            return spec;
        } catch (const ConfigError&) {
            tell();  // a mistyped <main_program/> is the reason for the error
            throw;
        }
    }

    /// It may be in plan_class_spec.xml tomorrow.
    void warn_of_plan_class(const VersionFolder& folder) const {
        const std::string& name = folder.plan_class;
        if (name.empty()) return;
        const int level = config_.compat_level;
        std::string problem = plan_classes_.name_problem(name, level);
        if (plan_classes_.find(name, level) == nullptr)
            problem = fmt::format("there is no plan class '{}', so no host gets it: {}", name,
                                  plan_classes_.what_there_is(level));
        if (problem.empty()) return;
        std::fflush(stdout);
        fmt::print(stderr, "{}: {}\n", folder.path.string(), problem);
    }

    template <typename Row>
    static Id id_of(const std::vector<Row>& rows, const std::string& name, const VersionFolder& folder,
                    const char* kind) {
        const auto found = std::ranges::find(rows, name, &Row::name);
        if (found != rows.end()) return found->id;
        throw ConfigError(fmt::format("{}: the database has no {} '{}': add it to project.xml and run xadd",
                                      folder.path.string(), kind, name));
    }

    static std::string api_version_of(const VersionSpec& spec) {
        const auto main_program = std::ranges::find_if(spec.files, &VersionFile::main_program);
        const auto content = read_file(main_program->path, std::size_t{16} << 30);
        return content ? find_api_version(*content) : "";
    }

    static void describe(const VersionFolder& folder, const VersionSpec& spec) {
        fmt::print("Found app version: {} {} on {}{}{}\n", folder.app, folder.version_num, folder.platform,
                   folder.plan_class.empty() ? "" : ", plan class ", folder.plan_class);
        for (const VersionFile& file : spec.files) {
            fmt::print("  {}{}{}{}\n", file.physical_name, file.logical_name.empty() ? "" : " as " + file.logical_name,
                       file.main_program ? " (main program)" : "", file.gzip ? " (also compressed)" : "");
        }
        fmt::print("  API version: {}\n", spec.api_version.empty() ? "unknown" : spec.api_version);
    }

    static bool confirmed() {
        fmt::print("Do you want to add it (y/n)? ");
        std::fflush(stdout);
        std::string answer;
        // Without a terminal behind it (cron, a pipe) "nothing was added" must not look like success.
        if (!std::getline(std::cin, answer))
            throw ConfigError("\nThere was no answer (end of input), and it was not added: use --noconfirm to add all");
        return answer == "y" || answer == "yes";
    }

    fs::path project_;
    const ProjectConfig& config_;
    UpdateOptions options_;
    Database db_;
    std::unique_ptr<ProjectSetupStore> store_;
    const ColumnSize column_ = column_size(db_, "app_version", "xml_doc");
    InstallKeys keys_;
    std::vector<Platform> platforms_;
    std::vector<std::string> platform_names_;
    std::vector<App> apps_;
    PlanClasses plan_classes_ = load_plan_classes(project_);
    int added_ = 0, known_ = 0, failed_ = 0;
};

int run(int argc, const char* const* argv) {
    CommandLine line(
        "update_versions", "Adds the app versions under apps/ to the project",
        "Adds the versions in apps/APP/VERSION/PLATFORM and apps/APP/VERSION/PLATFORM__PLANCLASS. It signs files "
        "with keys/code_sign_private unless NAME.sig holds the signature, copies them to the download folder, and "
        "adds the version to the database. Run it in the project's folder, as often as you like.");
    UpdateOptions options;
    line.flag("--noconfirm", options.noconfirm, "Do not ask before each version.");
    line.flag("--verbose", options.verbose, "Also name versions that are in the database already.");
    line.section("FILES",
                 "version.xml in a version's folder says which file is the main program, logical names, and so on.");
    line.section("EXIT STATUS", "0: done. 1: a version could not be added.");
    if (const auto status = line.parse(argc, argv)) return *status;
    const fs::path project = find_project_dir();
    refuse_root_in_project_of_another("bin/update_versions", project);
    const ProjectConfig config = load_config_and_warn(project);
    if (config.download_url.empty())
        throw ConfigError("config.xml has no <download_url>: clients could not fetch files");
    return Updater(project, config, options).run() ? 0 : 1;
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
    return sluice::tool_main({}, [&] { return sluice::run(argc, argv); });
}
