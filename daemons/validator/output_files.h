#pragma once
// The output files of a result, and the key that a bitwise comparison uses.
#include <filesystem>
#include <string>
#include <vector>

#include "daemons/validator/plan.h"

namespace sluice {

struct OutputFile {
    std::string name;     ///< physical name
    std::string logical;  ///< open_name of its <file_ref>
    bool optional = false, no_validate = false;
    std::filesystem::path path;
};

/// From result.xml_doc_in (<file_info> and <file_ref> elements), in their order. Names that could leave the upload
/// folder are dropped.
std::vector<OutputFile> output_files(const std::string& xml_doc_in, const std::filesystem::path& upload_dir,
                                     int fanout);

/// The first one that is there and is a link, a pipe or the like: nothing that a client uploaded. "": none.
std::string not_a_file(const std::vector<OutputFile>& files);

/// MD5s of all files to compare. kTransient if the upload folder can't be opened (a file system is away) or there is no
/// file but a link or a pipe, kError if a file is missing. `gzip`: the files are compressed; the time stamp in their
/// header does not count.
OutputCheck check_bitwise(const std::vector<OutputFile>& files, const std::filesystem::path& upload_dir, bool gzip);

}  // namespace sluice
