// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The output files of a result, and the key that a bitwise comparison uses.
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "daemons/validator/plan.h"
#include "daemons/validator/upload_tree.h"
#include "sluice/model/output_file.h"

namespace sluice {

struct Result;

struct OutputFileList {
    std::vector<OutputFile> files;  ///< none with a name that could leave the upload folder
    std::string problem = {};       ///< why these may not be all: the document is cut, or names what can't be a file
};

/// From result.xml_doc_in (<file_info> and <file_ref> elements), in their order.
OutputFileList output_files(const std::string& xml_doc_in, const std::filesystem::path& upload_dir, int fanout);

/// Of a result whose document has that `problem`: kTransient, since an admin may mend the row. kLongOutage after the
/// report kError: nobody did, and without a verdict the workunit would wait for ever. But no sooner than a day after
/// this program `found` the problem and said so: what cut the document may have come long after the report.
OutputCheck check_without_files(const std::string& problem, std::int64_t received, std::int64_t found,
                                std::int64_t now);

/// Remembers since when this program has known of a result's document that it is not whole.
class CutDocuments {
  public:
    OutputCheck check(const Result& result, const std::string& problem, std::int64_t now);
    /// Once a pass.
    void forget_old(std::int64_t now);

  private:
    std::map<Id, std::int64_t> found_;
};

/// MD5s of all files to compare. kTransient if one can't be read now, kError if it is lost (upload_tree.h says when);
/// `received`: when the result was reported. `gzip`: the files are compressed; the time stamp in their header does not
/// count.
OutputCheck check_bitwise(const std::vector<OutputFile>& files, std::int64_t received, UploadTree& tree, bool gzip);

/// That all files can be read, of a result that is compared with no other. No key that tells it from one.
OutputCheck check_read(const std::vector<OutputFile>& files, std::int64_t received, UploadTree& tree);

/// That all files can be opened; what is in them does not count. No key. kTransient and kError as check_bitwise().
OutputCheck check_readable(const std::vector<OutputFile>& files, std::int64_t received, UploadTree& tree);

}  // namespace sluice
