// SPDX-License-Identifier: LGPL-3.0-or-later
// submit_job: copies input files into the download hierarchy, and makes one job of them. Upstream's program of that
// name.
#include <fmt/core.h>

#include "config/db_settings.h"
#include "config/load.h"
#include "daemons/work/job_maker.h"
#include "sluice/base/clock.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/log.h"
#include "sluice/base/project.h"
#include "sluice/base/users.h"
#include "sluice/daemon/program.h"

namespace sluice {
namespace {

struct JobWords {
    std::vector<std::string> words;  ///< APP FILE…
    std::string in_template, out_template, command_line;
    std::optional<Id> target_user;
    bool verbose = false;
};

/// --templates IN OUT takes two values: taken out before the rest is parsed. Throws ConfigError.
std::vector<const char*> take_templates(int argc, const char* const* argv, JobWords& w) {
    std::vector<const char*> rest;
    for (int i = 0; i < argc; ++i) {
        const std::string_view word = argv[i];
        if (word != "--templates" && word != "-templates") {
            rest.push_back(argv[i]);
            continue;
        }
        if (i + 2 >= argc) throw ConfigError("--templates: give two files, the input and the output template");
        w.in_template = argv[++i], w.out_template = argv[++i];
    }
    return rest;
}

/// APP_TIME, or with a number behind it if there is such a job.
std::string unused_name(const std::string& app, SupplyStore& store) {
    const std::string base = fmt::format("{}_{}", app, SystemClock().now_sec());
    std::string name = base;
    for (int i = 2; store.workunit_by_name(name); ++i) name = fmt::format("{}_{}", base, i);
    return name;
}

/// All are looked at before the first is published.
void refuse_what_is_no_input(const std::vector<std::string>& files, const ProjectConfig& config) {
    for (const fs::path file : files) {
        if (!fs::is_regular_file(file)) throw FileError("there is no file " + file.string());
        if (is_secret(file, config.project_dir, config.key_dir))
            throw FileError(file.string() + " is a secret of the project and is never published");
    }
}

int submit_one(const JobWords& w) {
    const fs::path project = find_project_dir();
    refuse_root_in_project_of_another("bin/submit_job", project);
    const ProjectConfig config = load_config_and_warn(project);
    Database db(db_settings(config));
    const auto store = make_work_store(db);
    const auto supply = make_supply_store(db);
    JobMaker maker("submit_job", w.words[0], project, config, *store);
    const std::vector<std::string> files(w.words.begin() + 1, w.words.end());
    refuse_what_is_no_input(files, config);
    const StagingSettings staging{config.download_dir, config.download_url, config.uldl_dir_fanout,
                                  config.cache_md5_info};
    JobOptions job;
    for (const fs::path file : files) {
        const StagedFile staged = stage_file(file, staging, {.copy = true});
        if (w.verbose) fmt::print("published {} as {}\n", file.string(), staged.url);
        job.files.push_back({staged.name, false, "", "", 0});
    }
    job.wu_name = unused_name(maker.app().name, *supply);
    if (!w.in_template.empty()) job.wu_template = w.in_template, job.result_template = w.out_template;
    job.command_line = w.command_line;
    job.target_user = w.target_user.value_or(0);
    Workunit workunit = maker.prepare(job);
    const JobRows rows = maker.rows_of(job, workunit);
    store->insert({&workunit, 1}, {&rows, 1});
    fmt::print("Job name: {}\n", workunit.name);
    return 0;
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
    using namespace sluice;
    JobWords words;
    CommandLine line(
        "submit_job", "make one job of files",
        "Copies the files into the download hierarchy, where everybody can fetch them, makes a job of them, and prints "
        "its name. The files stay where they are. --templates IN OUT names the templates; without it they are "
        "templates/APP_in and templates/APP_out. create_work makes many jobs, and has more options.");
    line.option("--command_line", words.command_line, "passed to the application", "TEXT");
    line.id_option("--target_user", words.target_user, "only hosts of this account");
    line.flag("--verbose", words.verbose, "say which files were published");
    line.section("EXIT STATUS",
                 "0: the job is there. 1: no such app, file or template, or not as many files as it needs.");
    line.positional("APP FILE", words.words, "short name of the app, and its input files in the template's order");
    return tool_main({"submit_job"}, [&] {
        log_open({});
        const auto rest = take_templates(argc, argv, words);
        if (const auto status = line.parse(static_cast<int>(rest.size()), rest.data())) return *status;
        return words.words.empty() ? line.fail("give the short name of the app, and the job's files")
                                   : submit_one(words);
    });
}
