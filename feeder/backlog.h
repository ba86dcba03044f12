// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Unsent results that the feeder knows, and that are not in the array. They are in the order of the feeder's options,
// by app, submitter and part (batch, or high and low priority). In memory, bounded; the database stays the truth:
// whatever is dropped here is found again by the next walk.
#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "feeder/options.h"
#include "sluice/db/feeder_store.h"

namespace sluice {

/// Which line a queued job stands in. 0 where the options make no such difference.
struct StreamKey {
    Id app = 0;
    Id user = 0;       ///< --user
    Id part = 0;       ///< --by_batch and <share_rule>: batch; --batch_accel: 1 = priority > 0
    int hr_class = 0;  ///< <hr_allocate_slots>
    friend auto operator<=>(const StreamKey&, const StreamKey&) = default;
};

/// A queued job and its place within its line: by `major`, then `minor`, then the row's id.
struct QueuedJob {
    double major = 0;
    Id minor = 0;
    UnsentRow row;
    StreamKey stream;
    friend bool operator<(const QueuedJob& a, const QueuedJob& b) {
        if (a.major != b.major) return a.major < b.major;
        if (a.minor != b.minor) return a.minor < b.minor;
        return a.row.id < b.row.id;
    }
};

/// Place within its line, by the order; `draw` is a uniform random number (FeederOrder::kRandom).
void set_place(QueuedJob& queued, FeederOrder order, double draw);

class Backlog {
  public:
    using Accepts = std::function<bool(const StreamKey&)>;

    /// False: it is in here already.
    bool insert(const QueuedJob& queued);
    /// What is known of this result; null: nothing. Until the next change of the backlog.
    const QueuedJob* find(Id result) const;
    bool remove(Id result);
    std::size_t size() const { return places_.size(); }
    void clear();

    /// The best queued job of (app, user, part) over those HR classes that `accepts` allows; taken out.
    std::optional<QueuedJob> take(const StreamKey& stream, const Accepts& accepts);
    bool has(const StreamKey& stream, const Accepts& accepts) const;
    /// The next part behind `after` of (app, user) that has something to take, going round; nullopt: none.
    std::optional<Id> next_part(Id app, Id user, Id after, const Accepts& accepts) const;
    /// Those of (app, user) that have queued jobs.
    std::vector<Id> parts(Id app, Id user) const;
    /// Drops the worst of the longest lines until at most `most` queued jobs are left; how many.
    std::size_t trim(std::size_t most);
    /// (line, how many), for the dump of the state.
    std::map<StreamKey, std::size_t> lengths() const;

  private:
    using Line = std::set<QueuedJob>;
    using Lines = std::map<StreamKey, Line>;
    /// Lines never stay empty.
    Lines::const_iterator best_line(const StreamKey& stream, const Accepts& accepts) const;
    Lines::const_iterator end_of(Id app, Id user) const;

    QueuedJob extract(Lines::iterator line, Line::iterator place);

    Lines lines_;
    std::unordered_map<Id, Line::iterator> places_;
};

}  // namespace sluice
