// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Workunits by the sticky file that they share (docs/locality.md): sluice_file_group, one row a file, and
// sluice_file_group_wu, one a workunit whose files are not released. create_work fills them, the feeder keeps them.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sluice/db/database.h"
#include "sluice/model/job.h"
#include "sluice/model/project_tables.h"

namespace sluice {

/// Makes the tables if they are missing. Not within a transaction.
void prepare_file_groups(Database& db);
/// Within the transaction that inserted the workunits. `files`: of the workunits, in their order; "": in no group.
void add_to_file_groups(Database& db, std::span<const Workunit> workunits, std::span<const std::string> files);
/// By name; the newest `most`. None without the tables.
std::vector<FileGroup> read_file_groups(Database& db, int most);

/// What CatalogueStore::keep_file_groups() writes. Remembers where it stopped.
class FileGroupKeeper {
  public:
    explicit FileGroupKeeper(Database& db) : db_(db) {}
    /// Nothing without the tables.
    void keep(std::int64_t now);

  private:
    static constexpr int kStretch = 5000;  ///< workunits looked at in a call
    static constexpr int kAtOnce = 1000;   ///< groups changed in a call
    void remove_done();
    void note_idle(std::int64_t now);
    Database& db_;
    Id group_ = 0, workunit_ = 0;  ///< the last one that was looked at
};

}  // namespace sluice
