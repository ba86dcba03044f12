// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Makes the workunits that create_work and sluice_batch put into the database: templates, staged files, checks.
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "config/project_config.h"
#include "daemons/work/input_template.h"
#include "daemons/work/job_options.h"
#include "daemons/work/staging.h"
#include "sluice/base/signing.h"
#include "sluice/daemon/command_line.h"
#include "sluice/db/work_store.h"
#include "sluice/model/catalogue.h"
#include "sluice/model/job.h"

namespace sluice {

/// The options that say what all jobs of a command have in common.
void define_job_options(CommandLine& line, JobOptions& job);

class JobMaker {
  public:
    /// `program` heads warnings on standard error; `project`: templates are looked for there, too. Throws ConfigError
    /// if there is no such app.
    JobMaker(std::string program, const std::string& app_name, const std::filesystem::path& project,
             const ProjectConfig& config, WorkStore& store);

    /// The workunit with XML and checks done; not in the database yet. It gets a name if the options have none. Throws
    /// ConfigError.
    Workunit prepare(const JobOptions& options);
    /// What belongs to it in the database: an assignment, its file group. Throws ConfigError.
    JobRows rows_of(const JobOptions& options, const Workunit& workunit) const;
    /// Throws FileError if an input file, of those that prepare() found, is gone (JobRows::check_files).
    std::function<void()> file_check(const JobOptions& options, const Workunit& workunit) const;
    const App& app() const { return app_; }

  private:
    /// That results can be made of it for a workunit of that name. Throws ConfigError. Warns once for each.
    void check_result_template(const std::string& path, const std::string& wu_name);
    /// The key by which output files are signed; null: none is wanted, or this account can't read it.
    const PrivateKey* signer();
    void check_pinned(int version_num);
    /// Numbers of the command line in whose place the template has its own.
    void warn_of_ignored(const JobOptions& job, const Workunit& w);
    void warn_of_bound(const JobOptions& job, const Workunit& w);
    const std::map<int, double>& typical_sizes();
    const InputTemplate& input_template(const std::string& path);

    std::string program_;
    std::filesystem::path project_;
    WorkStore& store_;
    StagingSettings staging_;
    std::string upload_url_;
    std::filesystem::path key_;  ///< empty: output files are not signed
    std::optional<PrivateKey> signer_;
    App app_;
    bool groups_by_app_;  ///< jobs of apps for locality are in the group of their largest sticky file
    std::map<std::string, InputTemplate> templates_;
    std::optional<std::map<int, double>> typical_sizes_;  ///< of this app's classes; read once
    /// Of result templates: text, and the longest name of a workunit that it was checked with.
    struct Checked {
        std::string text;
        std::size_t longest_name = 0;
    };
    std::map<std::string, Checked> checked_;
    std::set<int> pins_checked_;
    bool bound_told_ = false;
    std::set<std::string> ignored_told_;
    int counter_ = 0;
};

}  // namespace sluice
