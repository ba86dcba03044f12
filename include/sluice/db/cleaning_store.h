#pragma once
// What the programs that delete files and old rows ask of the database: file_deleter and antique_file_deleter.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sluice/db/database.h"
#include "sluice/model/id_share.h"

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

class CleaningStore {
  public:
    virtual ~CleaningStore() = default;
    virtual std::optional<Id> app_id(const std::string& name) = 0;
    /// The next `limit` rows above `after` whose file_delete_state is `state`, by id.
    virtual std::vector<FileOwner> file_owners(FilesOf of, FileDeleteState state, const FileFilter& filter, Id after,
                                               int limit) = 0;
    /// file_delete_state of these rows from `was` to `is`; a row that has another one by now keeps it.
    virtual std::int64_t mark(FilesOf of, const std::vector<Id>& ids, FileDeleteState was, FileDeleteState is) = 0;
    /// Those of `files` whose file group (docs/locality.md) has unfinished workunits.
    virtual std::vector<std::string> files_in_use(const std::vector<std::string>& files) = 0;
    /// create_time of the workunit with the least id whose name does not contain "nodelete"; nullopt: there is none.
    virtual std::optional<std::int64_t> oldest_workunit() = 0;
};

/// `db` outlives the store.
std::unique_ptr<CleaningStore> make_cleaning_store(Database& db);

}  // namespace sluice
