// SPDX-License-Identifier: LGPL-3.0-or-later
#include "config/project/install_version.h"

#include <fmt/format.h>
#include <zlib.h>

#include <cstring>

#include "sluice/base/download_folder.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/hash.h"
#include "sluice/base/signing.h"
#include "sluice/base/text.h"

namespace sluice {
namespace {

std::string element(const char* name, std::string_view text) {
    return fmt::format("<{}>{}</{}>\n", name, xml_escape(text), name);
}
std::string flag(const char* name, bool on) { return on ? fmt::format("<{}/>\n", name) : ""; }

std::string file_info(const VersionFile& file, const FileFacts& facts, const std::string& download_url) {
    std::vector<std::string> urls = file.urls;
    if (urls.empty()) urls.push_back(download_url + "/" + file.physical_name);
    std::string text = "<file_info>\n" + element("name", file.physical_name);
    for (const std::string& url : urls) text += element("url", url);
    if (facts.gzipped_nbytes > 0) {
        for (const std::string& url : urls) text += element("gzipped_url", url + ".gz");
    }
    text += flag("executable", file.executable);
    text += "<file_signature>\n" + facts.signature + "</file_signature>\n";
    text += element("nbytes", std::to_string(facts.nbytes));
    if (facts.gzipped_nbytes > 0) text += element("gzipped_nbytes", std::to_string(facts.gzipped_nbytes));
    return text + "</file_info>\n";
}

std::string file_ref(const VersionFile& file) {
    return "<file_ref>\n" + element("file_name", file.physical_name) +
           (file.logical_name.empty() ? "" : element("open_name", file.logical_name)) +
           flag("copy_file", file.copy_file) + flag("main_program", file.main_program) + "</file_ref>\n";
}

}  // namespace

std::string app_version_doc(const VersionFolder& folder, const VersionSpec& spec, const std::vector<FileFacts>& facts,
                            const std::string& download_url) {
    std::string text;
    for (std::size_t i = 0; i < spec.files.size(); ++i) text += file_info(spec.files[i], facts[i], download_url);
    text += "<app_version>\n" + element("app_name", folder.app) +
            element("version_num", std::to_string(folder.version_num));
    if (!spec.api_version.empty()) text += element("api_version", spec.api_version);
    for (const VersionFile& file : spec.files) text += file_ref(file);
    text += flag("dont_throttle", spec.dont_throttle) + flag("needs_network", spec.needs_network) +
            flag("is_wrapper", spec.is_wrapper);
    if (!spec.file_prefix.empty()) text += element("file_prefix", spec.file_prefix);
    return text + "</app_version>\n";
}

namespace {

/// App files of some projects are virtual machine images.
constexpr std::size_t kMaxFileBytes = std::size_t{16} << 30;

std::string content_of(const fs::path& file) {
    auto text = read_file(file, kMaxFileBytes);
    if (!text) throw FileError(file.string() + " is gone");
    return std::move(*text);
}

std::string signature_of(const VersionFile& file, const std::string& content, const InstallKeys& keys) {
    fs::path sig = file.path;
    sig += ".sig";
    if (auto given = read_file(sig, 65536)) return std::move(*given);
    if (!fs::exists(keys.private_key)) {
        throw ConfigError(
            fmt::format("{} has no signature: sign it with sign_executable on the machine that holds the "
                        "private key and put the text into {}",
                        file.path.string(), sig.string()));
    }
    return PrivateKey::read(keys.private_key).sign(content);
}

void check_immutable(const VersionFile& file, const std::string& content, const fs::path& target) {
    if (!fs::exists(target)) return;
    if (md5_hex(content) == md5_hex_of_file(target)) return;
    throw ConfigError(
        fmt::format("{} differs from {}: clients that have the old file would keep it; give the new one "
                    "another name (with its version number in it)",
                    file.path.string(), target.string()));
}

/// Same bytes in, same bytes out: no name and no time in the header.
std::string gzipped(const std::string& content) {
    z_stream stream{};
    if (deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY) != Z_OK) throw Error("zlib can't start");
    std::string out(deflateBound(&stream, content.size()) + 32, '\0');
    std::string in = content;  // zlib's pointer is not const
    stream.next_in = reinterpret_cast<Bytef*>(in.data());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    std::size_t in_left = in.size(), out_left = out.size();
    int status = Z_OK;
    while (status == Z_OK) {  // counters are 32 bits wide, files may be larger
        const uInt in_now = static_cast<uInt>(std::min<std::size_t>(in_left, 1u << 30));
        const uInt out_now = static_cast<uInt>(std::min<std::size_t>(out_left, 1u << 30));
        stream.avail_in = in_now;
        stream.avail_out = out_now;
        status = deflate(&stream, in_left == in_now ? Z_FINISH : Z_NO_FLUSH);
        in_left -= in_now - stream.avail_in;
        out_left -= out_now - stream.avail_out;
    }
    deflateEnd(&stream);
    if (status != Z_STREAM_END) throw Error("zlib can't compress");
    out.resize(out.size() - out_left);
    return out;
}

}  // namespace

std::vector<FileFacts> sign_and_check(const VersionSpec& spec, const InstallKeys& keys, const fs::path& download_dir) {
    const PublicKey public_key = PublicKey::read(keys.public_key);
    std::vector<FileFacts> facts;
    for (const VersionFile& file : spec.files) {
        const std::string content = content_of(file.path);
        FileFacts fact;
        fact.nbytes = content.size();
        fact.signature = signature_of(file, content, keys);
        if (!public_key.verify(content, fact.signature)) {
            throw ConfigError(
                fmt::format("the signature of {} does not fit {}: clients would refuse the file; sign it "
                            "with the private key that belongs to it",
                            file.path.string(), keys.public_key.string()));
        }
        if (!fact.signature.ends_with('\n')) fact.signature += '\n';
        check_immutable(file, content, download_dir / file.physical_name);
        facts.push_back(std::move(fact));
    }
    return facts;
}

void copy_files(const VersionSpec& spec, const fs::path& download_dir, std::vector<FileFacts>& facts) {
    require_download_folder(download_dir);
    for (std::size_t i = 0; i < spec.files.size(); ++i) {
        const VersionFile& file = spec.files[i];
        const std::string content = content_of(file.path);
        const fs::path target = download_dir / file.physical_name;
        fs::create_directories(target.parent_path());  // names may hold '/'
        if (!fs::exists(target)) write_file_atomically(target, content, 0644);
        if (!file.gzip) continue;
        const std::string packed = gzipped(content);
        write_file_atomically(target.string() + ".gz", packed, 0644);
        facts[i].gzipped_nbytes = packed.size();
    }
}

}  // namespace sluice
