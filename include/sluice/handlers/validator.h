// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A validator of a project's own: this code says what a result is worth and which results agree. The rest is
// sluice_validator's: it reads and stores, grants credit, keeps hosts' statistics, and looks again at what could not be
// read. This code runs in a process of its own: if it crashes, hangs or takes all memory, one workunit is judged again
// later.
//
//     struct Sums : sluice::ResultValidator<double> {
//         sluice::Reading<double> read(const sluice::ReturnedResult& r) override;
//         bool agree(const double& a, const double& b) override { return std::abs(a - b) < 1e-6; }
//     };
//     int main(int argc, char** argv) { Sums sums; return sluice::run_validator(argc, argv, sums); }
//
// Build with find_package(Sluice COMPONENTS Validator) and Sluice::Validator; docs/validators.md shows it.
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "sluice/model/job.h"
#include "sluice/model/output_file.h"

namespace sluice {

/// What is wrong with a result: it becomes a validate error, and gets no credit.
struct BadOutput {
    std::string why;  ///< for the log
};
/// What can't be told just now, as when a disk is away: the workunit is left alone, and judged again later.
struct TryLater {
    std::string why;
};

/// Of a result what reading it gave.
template <typename T>
using Reading = std::variant<T, BadOutput, TryLater>;

/// All results of a workunit; those to judge have their files. Valid until end().
struct ReturnedSet {
    const Workunit& workunit;
    std::span<const Result> results;
    std::span<const std::vector<OutputFile>> files;
    int app_target_nresults = 0;  ///< the app's target_nresults
};

/// One result to judge. Valid during a call.
struct ReturnedResult {
    const Workunit& workunit;
    const Result& result;
    std::span<const OutputFile> files;
};

/// What was found of one result.
struct LookedAt {
    enum class Kind { kGood, kBad, kLater };
    Kind kind = Kind::kGood;
    std::string why = {};     ///< if not good
    bool outlier = false;     ///< its run time says nothing of others
    bool suspicious = false;  ///< good, but not without a second one, if the app's target_nresults is above 1
    /// What it is worth, for --post_assigned_credit: the canonical result's counts, for all that agree with it.
    std::optional<double> credit = {};
    std::optional<double> opaque = {};  ///< becomes result.opaque, if there is a verdict
};

enum class PairIs { kSame, kDifferent, kLater };

/// What code says that decides on a whole set. Both lists have the set's order; what they say of a result that was not
/// asked about does not count.
struct JudgedSet {
    enum class Standing : unsigned char { kOpen, kValid, kInvalid };
    std::vector<LookedAt> looked;    ///< kBad and kLater go before what `standing` says
    std::vector<Standing> standing;  ///< kOpen: not decided
    int canonical = -1;              ///< the place of the canonical result, which is valid; -1: there is none yet
};

/// The narrow interface that sluice_validator calls: results by their places in a set. ResultValidator is easier.
class ValidatorCode {
  public:
    virtual ~ValidatorCode() = default;
    /// The words of the command line that sluice_validator does not know, in their order. "" or what is wrong.
    virtual std::string take(const std::vector<std::string>& words);
    /// Its own options, for --help; lines that end with a line break.
    virtual std::string usage() const { return ""; }

    /// A workunit's results are to be judged. Then look() comes for each, compare() for some that were good, end().
    virtual void begin(const ReturnedSet&) {}
    /// Decides on all results that are asked about, in place of look() and compare(): quorums do not count then. If the
    /// workunit has its canonical result, it says which of the others agree with that one. Empty: it does not decide.
    virtual std::optional<JudgedSet> judge_set(const std::vector<bool>& /*asked*/) { return std::nullopt; }
    virtual LookedAt look(std::size_t result) = 0;
    virtual PairIs compare(std::size_t a, std::size_t b) = 0;
    virtual void end() {}
};

/// Reads each result once, as a T, and compares two of them.
template <typename T>
class ResultValidator : public ValidatorCode {
  public:
    virtual Reading<T> read(const ReturnedResult& result) = 0;
    virtual bool agree(const T& a, const T& b) = 0;
    /// What a result is worth, for --post_assigned_credit.
    virtual std::optional<double> credit(const T&, const ReturnedResult&) { return std::nullopt; }

    void begin(const ReturnedSet& set) final {
        set_ = &set;
        read_.clear();
        read_.resize(set.results.size());
    }
    LookedAt look(std::size_t i) final {
        const ReturnedResult result{set_->workunit, set_->results[i], set_->files[i]};
        Reading<T> found = read(result);
        LookedAt looked;
        if (auto* bad = std::get_if<BadOutput>(&found)) {
            looked.kind = LookedAt::Kind::kBad;
            looked.why = std::move(bad->why);
        } else if (auto* later = std::get_if<TryLater>(&found)) {
            looked.kind = LookedAt::Kind::kLater;
            looked.why = std::move(later->why);
        } else {
            read_[i] = std::get<T>(std::move(found));
            looked.credit = credit(*read_[i], result);
        }
        return looked;
    }
    PairIs compare(std::size_t a, std::size_t b) final {
        return agree(*read_[a], *read_[b]) ? PairIs::kSame : PairIs::kDifferent;
    }
    void end() final { read_.clear(); }

  private:
    const ReturnedSet* set_ = nullptr;
    std::vector<std::optional<T>> read_;
};

/// The whole of main(): starts sluice_validator on this program, or, started by it, judges. It returns the exit status.
int run_validator(int argc, char** argv, ValidatorCode& code);

}  // namespace sluice
