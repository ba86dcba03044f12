#include "daemons/validator/output_files.h"

#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/hash.h"
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

}  // namespace

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

OutputCheck check_bitwise(const std::vector<OutputFile>& files, std::int64_t received, UploadTree& tree, bool gzip) {
    constexpr Ignored kTimeStamp{4, 8};  // of a gzip header
    using Found = OpenedOutput::Kind;
    OutputCheck check;
    for (const OutputFile& f : files) {
        if (f.no_validate) continue;
        const OpenedOutput opened = tree.open(f.path, received);
        if (opened.kind == Found::kOpen) {
            try {
                check.key += f.logical + "=" + md5_hex_of(opened.fd.get(), f.path, gzip ? kTimeStamp : Ignored{}) + ";";
            } catch (const FileError& e) {
                return {OutputCheck::Kind::kTransient, "", e.what()};
            }
        } else if (f.optional && (opened.kind == Found::kLost || opened.kind == Found::kNoFolder)) {
            check.key += f.logical + "=none;";
        } else {
            const bool lost = opened.kind == Found::kLost;
            return {lost ? OutputCheck::Kind::kError : OutputCheck::Kind::kTransient, "", opened.why};
        }
    }
    return check;
}

}  // namespace sluice
