#pragma once
// When most files of a page can't be read, a file system is away or a permission is wrong: then nothing is concluded
// from a missing file.
#include <map>
#include <string>

#include "sluice/base/timing.h"
#include "sluice/model/records.h"

namespace sluice {

/// What was found of the files of a page.
class ReadTally {
  public:
    /// Of a result of `whose`. `unreadable`: which file and why; empty: all were read.
    void add(Id whose, const std::string& unreadable);
    /// Most results, and most of those whose they are: one client that uploads nothing stops nobody else's.
    bool most_unreadable() const;
    /// "20 of 20 …, the first: PATH: Permission denied"
    std::string text() const;

  private:
    std::map<Id, int> votes_;  ///< readable less unreadable
    int readable_ = 0, unreadable_ = 0;
    std::string first_;
};

/// Holds pages back, and passes for a minute; says so once a minute.
class Brake {
  public:
    static constexpr double kHold = 60;  ///< s until the files are looked at again
    static constexpr int kPages = 5;     ///< held back one after the other; then the pass ends

    /// No pass now: the last one could do nothing.
    bool on(double now) const { return now < until_; }
    /// A page is held back. `doing`: what is not done with it ("judged").
    void hold(const ReadTally& tally, const char* doing, double now);
    /// Nothing else was done in this pass.
    void pull(double now) { until_ = now + kHold; }

  private:
    Periodic said_{kHold};
    double until_ = 0;
};

}  // namespace sluice
