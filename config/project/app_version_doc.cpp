// SPDX-License-Identifier: LGPL-3.0-or-later
#include "config/project/app_version_doc.h"

#include <fmt/format.h>

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

}  // namespace sluice
