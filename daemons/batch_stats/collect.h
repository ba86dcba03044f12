// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The observations of every batch that is measured: all read from the database, or those of the last pass brought up to
// date by reading only what can have changed since.
#include <functional>
#include <map>
#include <vector>

#include "daemons/batch_stats/state_file.h"

namespace sluice {

class Collector {
  public:
    using Sink = std::function<void(const BatchSection&)>;
    /// `batches` by id.
    Collector(BatchStatsStore& store, const std::vector<MeasuredBatch>& batches);

    /// Every batch, by id. `sink` must not use the database.
    void everything(const Sink& sink);
    /// The same from `old`. False, and nothing handed out: the database is not the one that `old` is of.
    bool brought_up_to_date(StateReader& old, std::int64_t now, const Sink& sink);

    Id last_result() const { return last_result_; }
    std::size_t rows_read() const { return rows_read_; }

  private:
    struct Known;
    void find_changes(StateReader& old, std::int64_t now, Known& known);
    bool read_changes(Known& known, Id last_seen);
    void whole_batches(const std::vector<Id>& batches, const Sink& sink);
    void note(const ResultTimes& r);
    bool wanted(Id batch) const { return batches_.contains(batch); }

    BatchStatsStore& store_;
    std::map<Id, const MeasuredBatch*> batches_;
    std::map<Id, std::vector<Observation>> changes_;  ///< by batch
    std::vector<Id> looked_at_;                       ///< results that were read again, sorted
    Id last_result_ = 0;
    std::size_t rows_read_ = 0;
};

}  // namespace sluice
