// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// db_purge: workunits whose files are gone leave the database, with their results, for archives on disk.
#include <memory>
#include <optional>
#include <string>

#include "daemons/cleaning/archive.h"
#include "sluice/base/clock.h"
#include "sluice/base/files.h"
#include "sluice/daemon/service.h"
#include "sluice/db/cleaning_store.h"

namespace sluice {

struct PurgeOptions {
    PurgeFilter filter;
    ArchiveOptions archive;
    bool no_archive = false, dont_delete = false, dry_run = false, one_pass = false;
    bool assignments = false;          ///< <enable_assignment>: rows of assignment go, too
    std::int64_t max_workunits = 0;    ///< then it ends; 0: no limit
    std::int64_t max_wu_per_file = 0;  ///< then another set of files; 0: no limit
    double every = 300;                ///< s between two passes that find nothing
    int page = 100;                    ///< workunits a transaction
};

class DbPurge final : public Service {
  public:
    /// Both outlive it.
    DbPurge(const PurgeOptions& options, CleaningStore& store, const Clock& clock)
        : Service(options.every), options_(options), store_(store), clock_(clock) {}
    ~DbPurge() override;  ///< closes the archives
    /// One page.
    Turn turn() override;

  private:
    std::optional<FileLock> wait_for_archives() const;
    void finish_what_was_begun();
    void close_ended_set();  ///< one that is full, or of a day that is over
    void archive(const std::vector<PurgedWorkunit>& page);
    void remove(const std::vector<PurgedWorkunit>& page);
    int page_size() const;
    Turn end_of_pass();

    PurgeOptions options_;
    CleaningStore& store_;
    const Clock& clock_;
    std::unique_ptr<ArchiveSet> set_;
    bool begun_ = false;
    Id after_ = 0;  ///< of this pass
    std::int64_t pass_workunits_ = 0, pass_results_ = 0, workunits_ = 0;
};

}  // namespace sluice
