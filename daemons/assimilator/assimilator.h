// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Calls the script for each workunit that is ready. The workunit is marked only after the script returned 0: a script
// may be called again for a workunit after a crash, so it must bear that. A script that fails does not end the daemon
// (upstream's does): the workunit is tried again after a while, the others go on. So is one whose files can't be read.
// If nobody mends the document that names them, the workunit has failed (output_files.h says when).
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "config/project_config.h"
#include "daemons/validator/brake.h"
#include "daemons/validator/output_files.h"
#include "daemons/validator/upload_tree.h"
#include "sluice/base/clock.h"
#include "sluice/base/timing.h"
#include "sluice/daemon/daemon.h"
#include "sluice/db/assimilate_store.h"

namespace sluice {

// The command that a script assimilator runs for a workunit.

/// "SCRIPT token token …": tokens files (paths), files2 (path and logical name of each), wu_id, wu_name, result_id,
/// runtime, batch_id; only the script: wu_id files. Throws ConfigError for an unknown token.
std::vector<std::string> parse_script_option(const std::string& option);

/// The argument vector: PROJECT/bin/SCRIPT and the values of its tokens; without a canonical result
/// SCRIPT --error MASK WUNAME WUID BATCH.
std::vector<std::string> script_arguments(const std::vector<std::string>& script, const std::filesystem::path& bin,
                                          const Assimilable& job, const std::vector<OutputFile>& files);

struct AssimilatorOptions {
    std::string app_name, script;
    WorkunitFilter filter;
    std::int64_t one_pass_n_wu = 0;  ///< the program ends after so many workunits; 0: no such end
    bool dont_update_db = false;     ///< run the scripts, mark nothing
    double time_limit = 0;           ///< s for a call of the script; 0: none
    double every = 10;               ///< s between two passes that found nothing
};

class Assimilator final : public Service {
  public:
    Assimilator(const AssimilatorOptions& options, const std::filesystem::path& project, const ProjectConfig& config,
                AssimilateStore& store, const Clock& clock)
        : Service(options.every),
          options_(options),
          bin_(project / "bin"),
          config_(config),
          store_(store),
          clock_(clock),
          script_(parse_script_option(options.script)) {}

    TurnResult pass();
    Turn turn() override { return {pass(), interval()}; }

  private:
    struct Failure {
        double next = 0;  ///< when the script is called again
        BackOff delay{10, 3600};
    };

    bool enough() const { return options_.one_pass_n_wu > 0 && total_ >= options_.one_pass_n_wu; }
    bool due(Id wu) const;
    /// A workunit with its canonical result's files.
    struct Ready {
        const Assimilable* job;
        std::vector<OutputFile> files;
        std::string unreadable;    ///< the first that can't be read, and why; empty: the script is called
        std::string lost;          ///< the first that is lost, and why; or why nobody will know the files
        std::string missing = {};  ///< the path of that one
        OutputCheck::Files says = OutputCheck::Files::kNone;
        bool has_document = true;  ///< the canonical result's: false where the script is called as for a failed job
    };
    /// False: the pass ends.
    bool assimilate_page(const std::vector<Assimilable>& page, UploadTree& tree);
    Ready look_at(const Assimilable& job, UploadTree& tree);
    FileReading look_of(const Ready& ready) const;
    /// No missing file is lost where too few others can be read.
    void doubt_what_is_missing(std::vector<Ready>& page, const UploadTree& tree);
    /// Takes from the page what waits because most files can't be read. True: all of it, and others are alike.
    bool hold_back(std::vector<Ready>& page);
    void assimilate(const Ready& ready);
    /// The workunit waits for its next turn.
    double fails(Id wu);
    int call_script(const Ready& ready, int error_mask) const;
    /// What is to be added to the workunit's, with a line that says why.
    int error_of(const Ready& ready) const;

    const AssimilatorOptions& options_;
    std::filesystem::path bin_;
    const ProjectConfig& config_;
    AssimilateStore& store_;
    const Clock& clock_;
    std::vector<std::string> script_;
    std::map<Id, Failure> failures_;
    std::int64_t total_ = 0;
    int done_ = 0, failed_ = 0, held_pages_ = 0;  ///< of this pass
    CutDocuments cut_documents_;
    ReadMemory memory_;
    Brake brake_;
    double began_ = 0;  ///< this pass
};

}  // namespace sluice
