// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The archives of db_purge: four files in PROJECT/archives, as upstream writes them, and what makes them safe against a
// kill at any instruction.
//
// A page of records is written to the four files and synced. Then PROJECT/archives/.open_T_PID is replaced, which holds
// the lengths of the files and the workunits of the page. Only then are the rows deleted. The next db_purge finds such
// a file of a dead process. It cuts the four files to these lengths, ends them, and deletes the rows of that page
// without archiving them again. So nothing is archived twice, and nothing is deleted that is not on disk. The files are
// named from PROJECT/archives on: the project may be moved meanwhile.
#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "sluice/base/files.h"
#include "sluice/db/cleaning_store.h"

namespace sluice {

enum class ArchiveCompression {
    kNone,
    kGzip,  ///< FILE.gz: each page is a gzip member of its own, which gzip and zlib read as one file
    kZip    ///< FILE.zip: made by the program zip when the set is closed
};

/// The records that upstream's db_purge writes, element by element.
std::string workunit_record(const PurgedWorkunit& workunit);
std::string result_record(const PurgedResult& result);
/// A line of an index file.
std::string index_line(Id id, std::int64_t time, const std::string& name);
/// stderr_out in a record: upstream escapes each byte above 127 as a character of its own, and readers expect it.
std::string archive_escape(const std::string& text);

struct ArchiveOptions {
    std::filesystem::path folder;  ///< PROJECT/archives; made if it is missing
    ArchiveCompression compression = ArchiveCompression::kNone;
    bool daily_folder = false;  ///< in folder/YYYY_MM_DD (UTC)
};

/// One set of four files that is being written. Errors are FileError; what was not kept by add() is not in the files.
class ArchiveSet {
  public:
    /// Opens new files named by `now` (UNIX s), or by the next second that is free.
    ArchiveSet(const ArchiveOptions& options, std::int64_t now);
    ArchiveSet(const ArchiveSet&) = delete;
    ArchiveSet& operator=(const ArchiveSet&) = delete;

    /// Afterwards the records are on disk, and their rows may be deleted.
    void add(const std::vector<PurgedWorkunit>& page);
    /// The rows of the last page are deleted.
    void page_is_deleted();
    /// Once a turn: other machines see by the mark's age that its process lives.
    void is_in_use() const;
    /// Its folder is that of a day before `now` (UNIX s).
    bool is_of_an_earlier_day(std::int64_t now) const;
    /// Ends the files.
    void close();
    std::int64_t workunits() const { return workunits_; }

    /// Sets that processes left which are dead by now, cut to what is kept. For each: delete the rows of pending(),
    /// then close().
    static std::vector<std::unique_ptr<ArchiveSet>> left_open(const std::filesystem::path& folder);
    /// Workunits that are archived and whose rows may still be there.
    const std::vector<Id>& pending() const { return pending_; }

  private:
    struct File {
        std::filesystem::path path;
        OwnedFd fd{};
        std::int64_t length = 0;  ///< what the mark holds; what is behind it does not count
    };
    ArchiveSet() = default;
    static std::unique_ptr<ArchiveSet> read(const std::filesystem::path& mark);
    bool is_free(const std::filesystem::path& folder, std::int64_t time);
    void open_files();
    void discard();
    bool may_be_anothers(std::size_t file, const std::vector<std::filesystem::path>& marks) const;
    void append(File& file, const std::string& text) const;
    void keep(const std::vector<Id>& pending);
    void make_zip(const File& file) const;

    std::filesystem::path mark_;  ///< archives/.open_T_PID
    std::array<File, 4> files_;   ///< workunits, results, index of results, index of workunits
    ArchiveCompression compression_ = ArchiveCompression::kNone;
    bool daily_ = false;
    std::int64_t time_ = 0, workunits_ = 0;
    std::vector<Id> pending_;
};

}  // namespace sluice
