// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/xml/result_template.h"

#include <fmt/format.h>

#include <algorithm>

#include "sluice/base/error.h"
#include "sluice/base/text.h"
#include "sluice/xml/reader.h"

namespace sluice {
namespace {

constexpr std::string_view kOutfile = "<OUTFILE_", kUploadUrl = "<UPLOAD_URL/>", kEnd = "</file_info>";

constexpr std::string_view kComment = "<!--", kEndOfComment = "-->";

/// Behind the comment that begins at `begin`.
std::size_t end_of_comment(std::string_view text, std::size_t begin) {
    const auto end = text.find(kEndOfComment, begin + kComment.size());
    return end == text.npos ? text.size() : end + kEndOfComment.size();
}

/// A tag in a comment would be taken for one of the job's.
std::string without_comments(std::string_view text) {
    std::string out;
    for (auto begin = text.find(kComment); begin != text.npos; begin = text.find(kComment)) {
        out += text.substr(0, begin);
        text.remove_prefix(end_of_comment(text, begin));
    }
    return out.append(text);
}

std::string without_wrapper(std::string out) {
    replace_all(out, "<output_template>", "");
    replace_all(out, "</output_template>", "");
    return std::string(trim(out));
}

/// Every <OUTFILE_x/> and <UPLOAD_URL/> at once: what is put in is not looked at again.
std::string with_names(std::string_view text, std::string_view base, std::string_view upload_url) {
    std::string out;
    while (!text.empty()) {
        if (text.starts_with(kUploadUrl)) {
            out += upload_url;
            text.remove_prefix(kUploadUrl.size());
            continue;
        }
        const std::size_t end = text.starts_with(kOutfile) ? text.find("/>") : std::string_view::npos;
        if (end != std::string_view::npos) {
            out += base;
            out += text.substr(kOutfile.size(), end - kOutfile.size());
            text.remove_prefix(end + 2);
            continue;
        }
        const std::size_t next = std::min(text.find('<', 1), text.size());
        out += text.substr(0, next);
        text.remove_prefix(next);
    }
    return out;
}

/// The exact text that file_upload_handler rebuilds from a request.
std::string signed_text(std::string_view name, double max_nbytes) {
    return fmt::format("<name>{}</name><max_nbytes>{:.0f}</max_nbytes>", name, max_nbytes);
}

std::string with_signatures(const std::string& text, const std::string& template_file, const PrivateKey& signer) {
    std::string out;
    std::size_t done = 0;
    for (std::size_t start = text.find("<file_info>"); start != std::string::npos;
         start = text.find("<file_info>", done)) {
        const std::size_t end = text.find(kEnd, start);
        if (end == std::string::npos) throw ConfigError(template_file + ": a <file_info> has no end tag");
        const std::string_view info = std::string_view(text).substr(start, end - start);
        const auto name = find_element(info, "name");
        const auto size = find_number(info, "max_nbytes");
        if (!name || !size)
            throw ConfigError(template_file + ": a <file_info> lacks <name> or <max_nbytes>; uploads can't be signed");
        out.append(text, done, end - done);
        out += "<xml_signature>\n" + signer.sign(signed_text(*name, *size)) + "</xml_signature>\n";
        done = end;
        out.append(kEnd);
        done += kEnd.size();
    }
    return out + text.substr(done);
}

}  // namespace

std::string output_file_base(std::string_view result_name, std::int64_t random) {
    return fmt::format("{}_r{}_", result_name, random);
}

std::string expand_result_template(std::string_view text, const std::string& template_file, std::string_view base,
                                   std::string_view upload_url, const PrivateKey* signer) {
    std::string xml = with_names(without_wrapper(without_comments(text)), base, upload_url);
    if (!is_whole(xml, "result"))
        throw ConfigError(template_file + ": has no <result> element, written as <result> … </result>");
    if (signer != nullptr) xml = with_signatures(xml, template_file, *signer);
    return xml + "\n";
}

std::size_t find_outside_comments(std::string_view text, std::string_view what) {
    for (std::size_t from = 0;;) {
        const auto at = text.find(what, from), comment = text.find(kComment, from);
        if (at <= comment) return at;
        from = end_of_comment(text, comment);
    }
}

int line_of_joined_result(std::string_view text) {
    constexpr std::string_view kTag = "<result>";
    const auto at = find_outside_comments(text, kTag);
    if (at == text.npos || text.substr(at + kTag.size()).starts_with('\n')) return 0;
    return 1 + static_cast<int>(std::ranges::count(text.substr(0, at), '\n'));
}

}  // namespace sluice
