// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/upload/request_head.h"

#include <cmath>

#include "sluice/base/text.h"

namespace sluice::upload {
namespace {

/// Upstream reads lines of 256 bytes; URLs in <file_info> may be longer.
constexpr std::size_t kMaxLine = 4096;
/// A head has some 20 lines and a signature of 5.
constexpr std::size_t kMaxHead = 64 * 1024;

/// The text of <tag>…</tag> on this line.
std::optional<std::string> value_of(std::string_view line, std::string_view tag) {
    for (auto at = line.find(tag); at != std::string_view::npos; at = line.find(tag, at + 1)) {
        std::string_view rest = line.substr(at + tag.size());
        if (at == 0 || line[at - 1] != '<' || !rest.starts_with('>')) continue;
        rest.remove_prefix(1);
        return xml_unescape(trim(rest.substr(0, rest.find("</"))));
    }
    return std::nullopt;
}

bool has_tag(std::string_view line, std::string_view tag) { return line.find(tag) != std::string_view::npos; }

std::optional<double> size_of(const std::string& text) {
    const auto value = trim(text).empty() ? std::nullopt : parse_double(text);
    if (!value || !std::isfinite(*value)) return std::nullopt;
    return value;
}

struct Lines {
    BodyReader& body;
    std::size_t read = 0;
    std::optional<std::string> next() {
        if (read > kMaxHead) return std::nullopt;
        auto line = body.line(kMaxLine);
        if (line) read += line->size() + 1;
        return line;
    }
};

std::string signature_lines(Lines& lines) {
    std::string out;
    while (const auto line = lines.next()) {
        const auto end = line->find("</xml_signature>");
        out += line->substr(0, end) + "\n";
        if (end != std::string::npos) break;
    }
    return out;
}

void read_scalar(const std::string& line, RequestHead& head) {
    if (const auto name = value_of(line, "name")) {
        head.name = *name;
    } else if (const auto max_nbytes = value_of(line, "max_nbytes")) {
        head.max_nbytes = size_of(*max_nbytes);
    } else if (const auto nbytes = value_of(line, "nbytes")) {
        head.nbytes = size_of(*nbytes);
    } else if (const auto offset = value_of(line, "offset")) {
        const auto value = size_of(*offset);
        head.offset_ok = value && *value >= 0 && *value <= kMaxFileSize && std::floor(*value) == *value;
        head.offset = head.offset_ok ? *value : 0;
    }
}

void read_upload(Lines& lines, RequestHead& head) {
    head.kind = RequestHead::Kind::kUpload;
    while (const auto line = lines.next()) {
        if (has_tag(*line, "<data>")) {
            head.has_data = true;
            return;
        }
        if (has_tag(*line, "<xml_signature>")) {
            head.signature = signature_lines(lines);
            head.has_signature = !trim(head.signature).empty();
        } else {
            read_scalar(*line, head);
        }
    }
}

bool read_version(const std::string& line, RequestHead& head) {
    const struct {
        std::string_view tag;
        int* target;
    } versions[] = {{"core_client_major_version", &head.core_major},
                    {"core_client_minor_version", &head.core_minor},
                    {"core_client_release", &head.core_release}};
    for (const auto& [tag, target] : versions) {
        if (const auto text = value_of(line, tag)) {
            *target = clamp_to_int32(parse_int(*text).value_or(0));
            return true;
        }
    }
    return false;
}

}  // namespace

RequestHead read_request_head(BodyReader& body) {
    RequestHead head;
    Lines lines{body};
    while (const auto line = lines.next()) {
        if (read_version(*line, head)) continue;
        if (has_tag(*line, "<file_upload>")) {
            read_upload(lines, head);
            return head;
        }
        if (const auto name = value_of(*line, "get_file_size")) {
            head.kind = RequestHead::Kind::kGetFileSize;
            head.name = *name;
            return head;
        }
        if (has_tag(*line, "</data_server_request>")) break;
    }
    return head;
}

}  // namespace sluice::upload
