#include "daemons/validator/output_files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <fstream>
#include <map>

#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/hash.h"
#include "sluice/base/owned_fd.h"
#include "sluice/xml/reader.h"

namespace sluice {
namespace {

constexpr std::size_t kMaxName = 255;

OutputFile read_reference(XmlReader& xml) {
    OutputFile f;
    while (xml.next_child("file_ref")) {
        if (xml.name() == "file_name")
            f.name = xml.text(kMaxName).value_or("");
        else if (xml.name() == "open_name")
            f.logical = xml.text(kMaxName).value_or("");
        else if (xml.name() == "optional")
            f.optional = xml.boolean().value_or(false);
        else if (xml.name() == "no_validate")
            f.no_validate = xml.boolean().value_or(false);
        else
            xml.skip();
    }
    return f;
}

std::string content_key(const fs::path& file, bool gzip) {
    // The web server's account writes there: no link of its leads to a file of the project, no pipe keeps us waiting.
    const OwnedFd fd(::open(file.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat info {};
    if (fd.get() < 0 || ::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode))
        throw FileError(file.string() + " is no file, or can't be read");
    const fs::path path = "/proc/self/fd/" + std::to_string(fd.get());
    if (!gzip) return md5_hex_of_file(path);
    auto bytes = read_file(path, std::size_t{1} << 30);
    if (bytes && bytes->size() > 10) bytes->replace(4, 4, 4, '\0');  // MTIME of the gzip header
    return md5_hex(bytes.value_or(""));
}

}  // namespace

std::string not_a_file(const std::vector<OutputFile>& files) {
    for (const OutputFile& f : files) {
        std::error_code ec;
        const auto status = fs::symlink_status(f.path, ec);
        if (fs::exists(status) && !fs::is_regular_file(status)) return f.path.string();
    }
    return "";
}

std::vector<OutputFile> output_files(const std::string& xml_doc_in, const fs::path& upload_dir, int fanout) {
    std::vector<OutputFile> files;
    XmlReader xml(xml_doc_in);
    for (auto kind = xml.next(); kind != XmlReader::Kind::kEof; kind = xml.next()) {
        if (kind != XmlReader::Kind::kStart || xml.name() != "file_ref") continue;
        OutputFile f = read_reference(xml);
        if (!is_valid_file_name(f.name)) continue;
        f.path = fanout_path(upload_dir, f.name, fanout);
        files.push_back(std::move(f));
    }
    return files;
}

OutputCheck check_bitwise(const std::vector<OutputFile>& files, const fs::path& upload_dir, bool gzip) {
    OutputCheck check;
    for (const OutputFile& f : files) {
        if (f.no_validate) continue;
        std::error_code ec;
        if (fs::exists(fs::symlink_status(f.path, ec))) {
            try {
                check.key += f.logical + "=" + content_key(f.path, gzip) + ";";
            } catch (const FileError&) {
                check.kind = OutputCheck::Kind::kTransient;  // it is there and can't be read now
                return check;
            }
            continue;
        }
        if (f.optional) {
            check.key += f.logical + "=none;";
            continue;
        }
        // The upload folder itself, not its sub-folder: those are made on demand, a missing one proves nothing.
        check.kind = fs::is_directory(upload_dir, ec) ? OutputCheck::Kind::kError : OutputCheck::Kind::kTransient;
        return check;
    }
    return check;
}

}  // namespace sluice
