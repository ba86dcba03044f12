// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/validator/output_files.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <functional>

#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/hash.h"
#include "sluice/base/text.h"
#include "sluice/xml/reader.h"

namespace sluice {
namespace {

constexpr std::size_t kMaxName = 255;
/// s after which a document's problem counts as a new one. Long before, the result has its verdict.
constexpr std::int64_t kForgotten = 3 * kLongOutage;

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

}  // namespace

OutputFileList output_files(const std::string& xml_doc_in, const fs::path& upload_dir, int fanout) {
    OutputFileList found;
    if (!is_whole(xml_doc_in, "result")) found.problem = "result.xml_doc_in: " + what_is_missing(xml_doc_in, "result");
    XmlReader xml(xml_doc_in);
    for (auto kind = xml.next(); kind != XmlReader::Kind::kEof; kind = xml.next()) {
        if (kind != XmlReader::Kind::kStart || xml.name() != "file_ref") continue;
        OutputFile f = read_reference(xml);
        if (!is_valid_file_name(f.name)) {
            if (found.problem.empty())
                found.problem = "result.xml_doc_in: '" + in_one_line(f.name) + "' is no name of an output file";
            continue;
        }
        f.path = fanout_path(upload_dir, f.name, fanout);
        found.files.push_back(std::move(f));
    }
    return found;
}

OutputCheck check_without_files(const std::string& problem, std::int64_t received, std::int64_t found,
                                std::int64_t now) {
    constexpr std::int64_t kWarning = 86400;
    constexpr auto kFiles = OutputCheck::Files::kMissing;  // where most are so, the brake holds
    if (received + kLongOutage >= now || found + kWarning >= now)
        return {OutputCheck::Kind::kTransient, "", problem, kFiles};
    return {OutputCheck::Kind::kError, "", problem + ", and nobody has corrected it", kFiles};
}

OutputCheck CutDocuments::check(const Result& result, const std::string& problem, std::int64_t now) {
    return check_without_files(problem, result.received_time, found_.try_emplace(result.id, now).first->second, now);
}

void CutDocuments::forget_old(std::int64_t now) {
    std::erase_if(found_, [now](const auto& f) { return f.second + kForgotten <= now; });
}

namespace {

constexpr MaskedRange kTimeStamp{4, 8};  // of a gzip header

void read_through(int fd, const fs::path& name) {
    std::array<char, 1 << 16> block;
    for (ssize_t n = 1; n != 0;) {
        n = ::read(fd, block.data(), block.size());
        if (n < 0 && errno != EINTR) throw FileError("Can't read " + name.string() + ": " + file_problem(errno, name));
    }
}

/// What reading an open file adds to the key.
using ReadOpened = std::function<std::string(const OutputFile&, int fd)>;

OutputCheck check_files(const std::vector<OutputFile>& files, std::int64_t received, UploadTree& tree,
                        const ReadOpened& read) {
    using Found = OpenedOutput::Kind;
    using Says = OutputCheck::Files;
    OutputCheck check;
    for (const OutputFile& f : files) {
        if (f.no_validate) continue;
        const OpenedOutput opened = tree.open(f.path, received);
        if (opened.kind == Found::kOpen) {
            try {
                check.key += read(f, opened.fd.get());
                check.files = Says::kRead;
            } catch (const FileError& e) {
                return {OutputCheck::Kind::kTransient, "", e.what(), Says::kShut};
            }
        } else if (f.optional && (opened.kind == Found::kLost || opened.kind == Found::kNoFolder)) {
            check.key += f.logical + "=none;";
        } else {
            const bool lost = opened.kind == Found::kLost;
            return {lost ? OutputCheck::Kind::kError : OutputCheck::Kind::kTransient, "", opened.why,
                    opened.is_missing() ? Says::kMissing : Says::kShut, f.path};
        }
    }
    return check;
}

}  // namespace

OutputCheck check_bitwise(const std::vector<OutputFile>& files, std::int64_t received, UploadTree& tree, bool gzip) {
    return check_files(files, received, tree, [gzip](const OutputFile& f, int fd) {
        return f.logical + "=" + md5_hex_of(fd, f.path, gzip ? kTimeStamp : MaskedRange{}) + ";";
    });
}

OutputCheck check_read(const std::vector<OutputFile>& files, std::int64_t received, UploadTree& tree) {
    return check_files(files, received, tree, [](const OutputFile& f, int fd) {
        read_through(fd, f.path);
        return std::string();
    });
}

OutputCheck check_readable(const std::vector<OutputFile>& files, std::int64_t received, UploadTree& tree) {
    OutputCheck check = check_files(files, received, tree, [](const OutputFile&, int) { return std::string(); });
    check.key.clear();
    return check;
}

}  // namespace sluice
