// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What judges results, in a validator: the project's part of it. The frame (validator.h) reads workunits, opens their
// files, and stores what plan.h decides; a judge says what each result is worth, and which agree.
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "daemons/validator/output_files.h"
#include "daemons/validator/plan.h"
#include "sluice/base/clock.h"
#include "sluice/db/validate_store.h"

namespace sluice {

/// A workunit whose results are judged.
struct JudgedWorkunit {
    const WorkunitWithResults* read = nullptr;
    /// Of each result; set for those to judge. Before the judge: what opening its files gave, without a key. kTransient
    /// is not asked about. kError: a file is lost; the judge may say kGood all the same.
    std::vector<std::optional<OutputCheck>> outputs = {};
    /// Of each result to judge its files, if the judge reads_files().
    std::vector<std::vector<OutputFile>> files = {};
    /// There is one result to judge, and none to compare it with.
    bool alone = false;
    /// Empty: results with equal keys agree.
    Comparisons compared = {};
    /// Set: the judge has decided on all of them.
    std::optional<SetVerdict> decided = {};

    const Result& result(std::size_t i) const { return read->results[i]; }
    /// To judge, its files are known, and not out of reach.
    bool asks_about(std::size_t i) const;
    /// The canonical result is there, and its files are lost: whatever comes late is too late.
    bool has_lost_canonical() const;
    /// The project's code failed on it: all that it asks_about() is judged again later.
    void fails(const std::string& why);
    /// It fails(), or a comparison failed.
    bool has_failed() const;
};

class Judge {
  public:
    virtual ~Judge() = default;
    /// False: the upload folder is not looked at.
    virtual bool reads_files() const { return true; }
    /// Results come with their stderr_out and xml_doc_out.
    virtual bool reads_stderr() const { return false; }
    /// Sets `outputs` of all that it asks_about(), and `compared`, of the first workunits, and returns how many. Fewer
    /// than all, and at least one, so that what took long is soon stored; none if stop_requested(), or if nothing can
    /// be judged for now: the pass ends. What goes wrong with one is kTransient, with the reason, and code_failed if it
    /// is the project's code that went wrong: it is judged again after a while, and the others go on.
    virtual std::size_t judge(const App& app, std::span<JudgedWorkunit> workunits) = 0;
};

/// Judges one result after the other for a second or so, and compares pairs as far as the decision needs them.
class PairJudge : public Judge {
  public:
    explicit PairJudge(const Clock& clock) : clock_(clock) {}
    std::size_t judge(const App& app, std::span<JudgedWorkunit> workunits) final;

  protected:
    virtual OutputCheck look(const JudgedWorkunit& workunit, std::size_t result) = 0;
    virtual Agreement compare(const JudgedWorkunit& workunit, std::size_t a, std::size_t b) = 0;
    /// No more questions about this workunit.
    virtual void done(const JudgedWorkunit&) {}

  private:
    void judge_one(JudgedWorkunit& workunit);

    const Clock& clock_;
};

}  // namespace sluice
