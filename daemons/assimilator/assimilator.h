// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Hands each workunit that is ready to a handler: the project's part of an assimilator. The workunit is marked only
// after the handler says that it is done: it may get a workunit again after a crash, and must bear that. A handler that
// fails does not end the daemon (upstream's does): the workunit is tried again after a while, the others go on. So is
// one whose files can't be read. If nobody mends the document that names them, the workunit has failed (output_files.h
// says when).
#include <cstdint>
#include <map>
#include <optional>
#include <span>
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

/// A finished workunit, as a handler gets it.
struct FinishedWorkunit {
    Workunit wu;                      ///< error_mask: not 0 if it has failed
    std::optional<Result> canonical;  ///< none: it has failed
    std::vector<OutputFile> files;    ///< the canonical result's; a lost one is among them
};

class AssimilateHandler {
  public:
    virtual ~AssimilateHandler() = default;
    /// For the log.
    virtual std::string name() const = 0;
    /// False: it runs where there is no upload folder, too.
    virtual bool reads_files() const { return true; }
    /// Stores the first of the workunits: of each "", or why that failed, in one line; then it comes again later. Fewer
    /// than all, and at least one, so that what took long is soon marked; none if stop_requested(), or if nothing can
    /// be stored for now: the pass ends.
    virtual std::vector<std::string> handle(std::span<const FinishedWorkunit> workunits) = 0;
};

struct AssimilatorOptions {
    std::string app_name;
    WorkunitFilter filter;
    std::int64_t one_pass_n_wu = 0;  ///< the program ends after so many workunits; 0: no such end
    bool one_pass = false;           ///< it ends; with status 1 if something has failed
    bool dont_update_db = false;     ///< call the handler, mark nothing
    double every = 10;               ///< s between two passes that found nothing
};

class Assimilator final : public Service {
  public:
    Assimilator(const AssimilatorOptions& options, AssimilateHandler& handler, const ProjectConfig& config,
                AssimilateStore& store, const Clock& clock)
        : Service(options.every), options_(options), handler_(handler), config_(config), store_(store), clock_(clock) {}

    TurnResult pass();
    Turn turn() override { return {pass(), interval()}; }

  private:
    struct Failure {
        double next = 0;  ///< when the handler gets it again
        BackOff delay{10, 3600};
        int times = 0;  ///< that the handler failed
    };

    bool enough() const { return options_.one_pass_n_wu > 0 && total_ >= options_.one_pass_n_wu; }
    bool due(Id wu) const;
    /// A workunit with its canonical result's files.
    struct Ready {
        const Assimilable* job;
        std::vector<OutputFile> files;
        std::string unreadable;    ///< the first that can't be read, and why; empty: it is handled
        std::string lost;          ///< the first that is lost, and why; or why nobody will know the files
        std::string missing = {};  ///< the path of that one
        OutputCheck::Files says = OutputCheck::Files::kNone;
        bool has_document = true;  ///< the canonical result's: false where it is handled as a failed job
    };
    /// False: the pass ends.
    bool assimilate_page(const std::vector<Assimilable>& page, UploadTree& tree);
    Ready look_at(const Assimilable& job, UploadTree& tree);
    FileReading look_of(const Ready& ready) const;
    /// No missing file is lost where too few others can be read.
    void doubt_what_is_missing(std::vector<Ready>& page, const UploadTree& tree);
    /// Takes from the page what waits because most files can't be read. True: all of it, and others are alike.
    bool hold_back(std::vector<Ready>& page);
    /// False: the pass ends.
    bool assimilate(std::span<const Ready> ready);
    /// What the handler said of the first of them; empty texts: they are done.
    void mark(std::span<const FinishedWorkunit> finished, std::span<const int> error_masks,
              std::span<const std::string> said);
    void mark_done(std::span<const AssimilatedWorkunit> done);
    /// Those of a group that can't be marked together. Throws the last error, after all have had their turn.
    void mark_one_by_one(std::span<const AssimilatedWorkunit> done);
    /// The workunit waits for its next turn.
    double fails(Id wu);
    /// What is to be added to the workunit's, with a line that says why.
    int error_of(const Ready& ready) const;

    const AssimilatorOptions& options_;
    AssimilateHandler& handler_;
    const ProjectConfig& config_;
    AssimilateStore& store_;
    const Clock& clock_;
    std::map<Id, Failure> failures_;
    std::int64_t total_ = 0;
    int done_ = 0, failed_ = 0, held_pages_ = 0;  ///< of this pass
    CutDocuments cut_documents_;
    ReadMemory memory_;
    Brake brake_;
    double began_ = 0;  ///< this pass
};

}  // namespace sluice
