// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// When most files can't be read, a file system is away or a permission is wrong. Then a missing file is not lost.
#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>

#include "daemons/validator/plan.h"
#include "daemons/validator/upload_tree.h"
#include "sluice/base/timing.h"

namespace sluice {

/// That the files of a result were read, or could not be.
struct FileReading {
    Id result = 0, whose = 0;
    std::int64_t received = 0;  ///< when the result was reported
    OutputCheck::Files files = OutputCheck::Files::kNone;
    double at = 0;      ///< when the pass began
    double first = 0;   ///< since when its files are missing: set by ReadMemory
    std::string why{};  ///< which file and why, if not kRead
};

/// What a daemon found in its last passes: does a missing file mean that it is lost?
class ReadMemory {
  public:
    void add(FileReading look);
    /// So many looks come together: from now on at least twice as many are kept.
    void make_room(std::size_t looks) { most_ = std::max(most_, 2 * looks); }
    /// True: since the file was first missing, the files of more other results were read than not. One client that
    /// uploads nothing has one vote. After a day a missing file has no vote, but needs that others were read. After a
    /// week a few of them need nobody.
    bool vouches_against(Id result, std::int64_t now) const;

  private:
    struct Tally {
        int readable = 0, unreadable = 0;
        int old = 0;  ///< missing for so long that they have no vote
        bool most_for = false;
    };
    const Tally& tally(double since, std::int64_t now) const;

    std::size_t most_ = 1000;
    std::uint64_t added_ = 0;
    std::map<std::uint64_t, FileReading> looks_;  ///< of each result the last one, in the order in which they came
    std::map<Id, std::uint64_t> place_;           ///< by result
    /// Many results of a pass are asked for one after the other.
    mutable std::map<std::pair<double, std::int64_t>, Tally> tallies_;
};

/// What makes it doubtful that a missing file is lost; empty: it is lost. `sure`: ReadMemory says so. `file`: its path,
/// or empty if it is not known.
std::string doubt_of(bool sure, const std::string& file, const UploadTree& tree);

/// What was found of the files of a page.
class ReadTally {
  public:
    void add(const FileReading& look);
    /// Most results, and most of those whose they are, and not just a few.
    bool most_unreadable() const;
    /// Not because files are missing, which a client could do.
    bool most_shut() const { return most_unreadable() && shut_ > readable_; }
    bool none_readable() const { return readable_ == 0; }
    /// "the files of 20 of 20 results can't be read, the first: PATH: Permission denied"
    std::string text() const;

  private:
    std::deque<FileReading> looks_;
    int readable_ = 0, missing_ = 0, shut_ = 0;
    std::string first_;
};

/// Holds workunits back, and passes for a minute; says so once a minute.
class Brake {
  public:
    static constexpr double kHold = 60;  ///< s until the files are looked at again
    static constexpr int kPages = 5;     ///< held back one after the other; then the pass ends

    /// No pass now: the last one could do nothing.
    bool on(double now) const { return now < until_; }
    /// Of a page what can't be read is held back, and the rest if most_shut(). `doing`: what is not done ("judged").
    void hold(const ReadTally& tally, const char* doing, double now);
    /// Nothing else was done in this pass.
    void pull(double now) { until_ = now + kHold; }

  private:
    Periodic said_{kHold};
    double until_ = 0;
};

}  // namespace sluice
