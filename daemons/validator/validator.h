// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The shell around plan.h and credit.h: reads pages of workunits that need validation, and the files of their results,
// writes what is decided, and keeps one broken workunit from stopping the others.
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "config/project_config.h"
#include "daemons/validator/brake.h"
#include "daemons/validator/code_failures.h"
#include "daemons/validator/judge.h"
#include "daemons/validator/output_files.h"
#include "daemons/validator/plan.h"
#include "daemons/validator/upload_tree.h"
#include "sluice/base/clock.h"
#include "sluice/base/timing.h"
#include "sluice/daemon/daemon.h"
#include "sluice/db/validate_store.h"
#include "sluice/model/catalogue.h"
#include "sluice/model/host.h"

namespace sluice {

struct Result;
struct Workunit;

struct ValidatorOptions {
    std::string app_name;
    WorkunitFilter filter;
    CreditMode credit = CreditMode::kAdaptive;
    double max_granted_credit = 73000000;  ///< 0: no limit
    bool gzip = false;                     ///< output files are compressed
    bool dry_run = false;                  ///< decides and says so, writes nothing
    std::int64_t one_pass_n_wu = 0;        ///< the program ends after so many workunits; 0: no such end
    double every = 5;                      ///< s between two passes that found nothing
    /// What judges results; null: their files are compared byte by byte. It outlives the validator.
    Judge* judge = nullptr;
    std::filesystem::path failures_file{};  ///< keeps how often the judge's code failed; empty: nothing does
    /// Instead of both: what a result's output says.
    std::function<OutputCheck(const Result&)> output{};
};

class Validator final : public Service {
  public:
    Validator(const ValidatorOptions& options, const ProjectConfig& config, ValidateStore& store, const Clock& clock)
        : Service(options.every),
          options_(options),
          config_(config),
          store_(store),
          clock_(clock),
          code_failures_(options.failures_file) {}

    TurnResult pass();
    Turn turn() override { return {pass(), interval()}; }

  private:
    /// What claims of credit are scaled by.
    struct Records {
        std::map<Id, AppVersion> versions;
        std::map<std::pair<Id, Id>, HostAppVersion> hosts;
    };

    bool with_stderr() const { return options_.judge != nullptr && options_.judge->reads_stderr(); }
    bool enough() const { return options_.one_pass_n_wu > 0 && total_ >= options_.one_pass_n_wu; }
    Records records_of(const App& app, std::span<const WorkunitWithResults> page);
    /// Of the results that are to be judged.
    std::vector<std::pair<FileReading, OutputCheck*>> looks_at(JudgedWorkunit& job) const;
    /// False: the pass ends.
    bool validate_page(const App& app, const std::vector<WorkunitWithResults>& page, UploadTree& tree);
    std::vector<JudgedWorkunit> look_at(const std::vector<WorkunitWithResults>& page, UploadTree& tree);
    /// No missing file is lost where too few others can be read.
    void doubt_what_is_missing(std::vector<JudgedWorkunit>& page, const UploadTree& tree);
    /// Takes from the page what waits because most files can't be read. True: all of it, and others are alike.
    bool hold_back(std::vector<JudgedWorkunit>& page);
    /// How many of the first workunits were judged. Where the project's code always fails, the results are errors.
    std::size_t judge(const App& app, std::span<JudgedWorkunit> workunits, UploadTree& tree);
    /// The code has failed on it too often.
    void give_up(const App& app, JudgedWorkunit& workunit, UploadTree& tree);
    /// Asks about each result on which the code failed, by itself. Empty: it can't be asked now.
    std::vector<std::optional<OutputCheck>> asked_alone(const App& app, const JudgedWorkunit& workunit,
                                                        UploadTree& tree);
    /// What was decided on a workunit.
    struct Decided {
        const WorkunitWithResults* read;
        ValidateFacts facts;
        ValidationPlan plan;
        ValidationWrite write;
    };
    /// Decides on a few workunits, and writes.
    void settle(const App& app, std::span<const JudgedWorkunit> group, const Records& records, UploadTree& tree);
    /// One workunit that can't be handled must not keep the others waiting.
    void attempt(const Workunit& wu, const std::function<void()>& work);
    void set_aside(const Workunit& wu, const char* why);
    /// Nothing, if there is nothing to write.
    std::optional<Decided> decide(const App& app, const JudgedWorkunit& job, const Records& records);
    /// In one transaction. An empty answer: they are to be written one by one.
    std::vector<Validated> write_together(std::span<const Decided> decided);
    Validated write(const Decided& decided);
    /// Says what became of it; decides and writes again for as long as the workunit changes meanwhile.
    void finish(const App& app, const Decided& decided, Validated outcome, UploadTree& tree);
    void note(const Decided& decided);
    /// Opens the files of the results that are to be judged.
    JudgedWorkunit opened(const WorkunitWithResults& read, UploadTree& tree);
    OutputCheck open_output(JudgedWorkunit& job, std::size_t result, UploadTree& tree);
    /// How long a workunit of which an output can't be read waits; says of each such result why.
    double put_off(const ValidateFacts& facts);
    void report(const ValidateFacts& facts, const ValidationPlan& plan, const ValidationWrite& write);
    /// <debug_credit>: what a valid result claims, in upstream's words.
    void log_claim(const Result& r, const CreditClaim& c) const;
    /// --post_assigned_credit: what the judge says of the canonical result.
    double judged_credit(const ValidateFacts& facts, Id canonical) const;
    double credit_of(const App& app, const ValidateFacts& facts, const std::vector<const Result*>& valid,
                     const std::vector<CreditClaim>& claims) const;
    ValidationWrite to_write(const App& app, const ValidateFacts& facts, const ValidationPlan& plan,
                             const Records& records) const;
    ValidationWrite::HostRow host_row(const App& app, const ValidateFacts& facts, const Result& r,
                                      const ResultVerdict& v, double granted, const CreditClaim* claim) const;

    const ValidatorOptions& options_;
    const ProjectConfig& config_;
    ValidateStore& store_;
    const Clock& clock_;
    /// A workunit that could not be handled is left alone for a while.
    struct Aside {
        double until = 0;
        BackOff wait{10, 3600};
    };
    std::int64_t seen_ = 0, valid_ = 0, handled_ = 0, total_ = 0;
    std::map<Id, Aside> set_aside_;
    CutDocuments cut_documents_;
    ReadMemory memory_;
    Brake brake_;
    CodeFailures code_failures_;
    double began_ = 0;    ///< this pass
    int held_pages_ = 0;  ///< of this pass
    int failures_in_a_row_ = 0;
};

}  // namespace sluice
