// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// file_deleter: the files of results and workunits that the transitioner has released (file_delete_state READY) are
// deleted. A row is marked after its files are gone, so that a kill in between costs a second look and nothing else.
#include <span>
#include <string>
#include <vector>

#include "daemons/cleaning/file_tree.h"
#include "sluice/base/clock.h"
#include "sluice/base/timing.h"
#include "sluice/daemon/service.h"
#include "sluice/db/cleaning_store.h"

namespace sluice {

/// What may be deleted for a row.
struct DeletableFiles {
    std::vector<std::string> names;  ///< of its <file_info>s without <no_delete/>; each a valid file name
    std::string problem = {};        ///< what its document names that can be no file
};
DeletableFiles deletable_files(const std::string& xml);

struct FileDeleterOptions {
    FileFilter filter;
    bool results = true, workunits = true;
    bool preserve_result_files = false, preserve_wu_files = false;  ///< rows are marked, files stay
    bool retry_errors = true;
    bool update = true;       ///< rows are marked
    bool dry_run = false;     ///< what would be deleted is printed; nothing is deleted or marked
    bool delete_md5 = false;  ///< <cache_md5_info>: NAME.md5 goes with an input file
    bool one_pass = false;
    double every = 5;  ///< s between two passes
    int page = 500;    ///< rows a statement
};

class FileDeleter final : public Service {
  public:
    /// Store and clock outlive it.
    FileDeleter(const FileDeleterOptions& options, FileTree upload, FileTree download, CleaningStore& store,
                const Clock& clock)
        : Service(options.every),
          options_(options),
          upload_(std::move(upload)),
          download_(std::move(download)),
          store_(store),
          clock_(clock) {}
    /// What is released; after an hour, then after twice as long each time, also what could not be deleted before.
    Turn turn() override;

  private:
    bool delete_all(FileDeleteState state);
    bool delete_listed(FilesOf of, FileDeleteState state);
    bool is_away(FilesOf of);
    struct Deleted {
        std::size_t rows = 0;  ///< the first ones of those given were looked at
        bool marked = false;   ///< some of them
    };
    /// At least one row's.
    Deleted delete_some(FilesOf of, FileDeleteState state, std::span<const FileOwner> owners);
    /// False: some file could not be deleted.
    bool delete_files(FilesOf of, const FileOwner& owner, const std::vector<std::string>& in_use);
    bool delete_output(const FileOwner& result, const std::string& name);
    bool delete_input(const FileOwner& workunit, const std::string& name);
    /// Which of FILE.gz and, if the project makes such files, FILE.md5 go with an input file.
    std::vector<const char*> copies_of(const FileTree::Place& place) const;
    void delete_copies(const FileOwner& workunit, const FileTree::Place& place,
                       const std::vector<const char*>& suffixes);

    FileDeleterOptions options_;
    FileTree upload_, download_;
    CleaningStore& store_;
    const Clock& clock_;
    BackOff retry_wait_{3600, 86400};  ///< s, until ERROR rows are tried again
    double retry_at_ = 0;
    bool failed_anew_ = false;  ///< a file of a released row, in this turn
    bool away_ = false;         ///< a folder was, in this turn
};

}  // namespace sluice
