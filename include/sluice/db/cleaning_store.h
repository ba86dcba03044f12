// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What the programs that delete files and old rows ask of the database: file_deleter, antique_file_deleter, db_purge.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sluice/db/database.h"
#include "sluice/model/id_share.h"
#include "sluice/model/job.h"

namespace sluice {

/// The two tables whose rows have files, each with a column file_delete_state.
enum class FilesOf { kResult, kWorkunit };

struct FileFilter {
    IdShare share{};
    Id appid = 0;                ///< 0: of all apps
    std::string xml_doc_like{};  ///< of workunits: SQL's LIKE on xml_doc; empty: all
};

/// A row whose files may go.
struct FileOwner {
    Id id = 0;
    std::string name;
    std::string xml;                   ///< xml_doc_in of a result, xml_doc of a workunit: it names the files
    Outcome outcome = Outcome::kInit;  ///< of a result
    ClientState client_state = ClientState::kNew;  ///< of a result
};

/// Workunits that may leave the database: their files are gone (file_delete_state DONE).
struct PurgeFilter {
    IdShare share{};
    Id appid = 0;                   ///< 0: of all apps
    double min_age_days = 0;        ///< nothing was written to the row for so long
    bool finished_batches = false;  ///< only jobs of no batch, and of retired ones
    bool not_of_open = false;       ///< no jobs of a batch in progress: its counts are made from their rows
};
struct PurgedResult {
    Result row;
    std::string mod_time;  ///< "YYYY-MM-DD HH:MM:SS", UTC
};
struct PurgedWorkunit {
    Workunit row;
    std::string mod_time;
    std::vector<PurgedResult> results;  ///< all, by id
};

/// Rows whose files are gone, and rows with a file that could not be deleted.
struct DeletedFiles {
    std::vector<Id> done{}, failed{};
};
/// Deletes files of `released`, which are locked, by id, but none of `in_use` (as CleaningStore::files_in_use()).
using DeletingWork =
    std::function<DeletedFiles(const std::vector<Id>& released, const std::vector<std::string>& in_use)>;

class CleaningStore {
  public:
    virtual ~CleaningStore() = default;
    virtual std::optional<Id> app_id(const std::string& name) = 0;
    /// The next `limit` rows above `after` whose file_delete_state is `state`, by id.
    virtual std::vector<FileOwner> file_owners(FilesOf of, FileDeleteState state, const FileFilter& filter, Id after,
                                               int limit) = 0;
    /// Those of `files` whose file group (docs/locality.md) has workunits with file_delete_state INIT. Locks nothing.
    virtual std::vector<std::string> files_in_use(const std::vector<std::string>& files) = 0;
    /// Deletes under locks, in one transaction. It locks those of `rows` whose file_delete_state still is `was`, by id,
    /// and the file groups of `files`. Then it calls `work`. Until `work` has ended nobody makes such a row live again
    /// or adds a job to such a group, so `work` is to be short. What it returns is marked. Returns how many rows were.
    /// After a deadlock `work` is called once more. Throws DbError.
    virtual std::int64_t delete_files(FilesOf of, const std::vector<Id>& rows, FileDeleteState was,
                                      const std::vector<std::string>& files, const DeletingWork& work) = 0;
    /// create_time of the workunit with the least id whose name does not contain "nodelete"; nullopt: there is none.
    virtual std::optional<std::int64_t> oldest_workunit() = 0;
    /// The next `limit` workunits above `after` whose name does not contain "nodelete", by id, with their results.
    virtual std::vector<PurgedWorkunit> purgeable(const PurgeFilter& filter, Id after, int limit) = 0;
    /// Deletes those that still may go, with their results, in one transaction; `assignments`: those of them, too. May
    /// be repeated. Returns the number of workunits.
    virtual std::int64_t purge(const std::vector<Id>& workunits, bool assignments) = 0;
};

/// `db` outlives the store.
std::unique_ptr<CleaningStore> make_cleaning_store(Database& db);

}  // namespace sluice
