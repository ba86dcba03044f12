// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What batch_stats remembers from pass to pass, so that the next one reads only what changed. It holds the
// observations, a section for each batch (about 15 bytes a result), and a summary. A file of the project, replaced
// whole; a missing, damaged or foreign one costs a full pass, nothing else. Sections are read and written one at a
// time: memory is that of the largest batch.
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "daemons/batches/turnaround_scores.h"

namespace sluice {

struct StatsSummary {
    std::string database;      ///< that the numbers are of
    StatsRules rules;          ///< of the last pass: batch_accel measures by the same
    std::int64_t made_at = 0;  ///< UNIX s
    std::int64_t full_at = 0;  ///< of the last pass that read everything
    double full_seconds = 0;   ///< that it took
    std::uint32_t pass = 0;
    Id last_result = 0;         ///< highest result id seen
    Id first_batch = 0;         ///< batches with lower ids are too old
    std::vector<Id> ltt_hosts;  ///< as they were written
    std::vector<VersionTurnaround> versions;
    std::vector<Scores::AppVerdict> apps;
};

struct BatchSection {
    Id batch = 0;
    std::vector<Observation> observations;  ///< by result id
};

class StateReader {
  public:
    /// nullopt: there is none that can be used; `why` says so if one exists.
    static std::optional<StateReader> open(const std::filesystem::path& file, std::string& why);
    const StatsSummary& summary() const { return summary_; }
    /// The next section, by batch id; false at the end.
    bool next(BatchSection& section);
    void rewind();

  private:
    StateReader() = default;
    std::ifstream in_;
    StatsSummary summary_;
};

class StateWriter {
  public:
    /// Throws FileError.
    explicit StateWriter(std::filesystem::path file);
    ~StateWriter();
    void put(const BatchSection& section);
    /// Replaces the old file. Throws FileError.
    void commit(const StatsSummary& summary);

  private:
    void block(const std::string& bytes);
    std::filesystem::path file_, temporary_;
    std::ofstream out_;
    std::uint64_t hash_;
};

std::filesystem::path stats_state_file(const std::filesystem::path& project);

}  // namespace sluice
