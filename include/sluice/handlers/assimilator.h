// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// An assimilator of a project's own: this code stores what a finished workunit gave. The rest is sluice_assimilator's.
// This code runs in a process of its own: if it crashes, hangs or takes all memory, the workunit comes again later. It
// may come again after a kill, too, although this code was through with it.
//
// Build with find_package(Sluice COMPONENTS Assimilator) and Sluice::Assimilator; docs/validators.md shows it.
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sluice/model/job.h"
#include "sluice/model/output_file.h"

namespace sluice {

/// A workunit to assimilate. Valid during a call.
struct ReturnedWorkunit {
    const Workunit& workunit;           ///< error_mask: why it failed
    std::span<const Result> results;    ///< all of it, successful or not
    const Result* canonical = nullptr;  ///< one of them; null: the workunit failed
    std::span<const OutputFile> files;  ///< the canonical result's
};

/// What became of it.
struct Assimilated {
    enum class Kind {
        kDone,
        kFailed  ///< it comes again later: after 10 s, then after twice the time each, at least once an hour
    };
    Kind kind = Kind::kDone;
    std::string why = {};  ///< if kFailed, for the log
};

class AssimilatorCode {
  public:
    virtual ~AssimilatorCode() = default;
    /// The words of the command line that sluice_assimilator does not know, in their order. "" or what is wrong.
    virtual std::string take(const std::vector<std::string>& words);
    /// Its own options, for --help; lines that end with a line break.
    virtual std::string usage() const { return ""; }
    virtual Assimilated assimilate(const ReturnedWorkunit& workunit) = 0;
};

/// The whole of main(): starts sluice_assimilator on this program, or, started by it, assimilates. It returns the exit
/// status.
int run_assimilator(int argc, char** argv, AssimilatorCode& code);

}  // namespace sluice
