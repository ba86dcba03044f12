// SPDX-License-Identifier: LGPL-3.0-or-later
// Scalar elements with upstream's lexical rules, more tolerant where upstream would drop the whole request.
#include "sched/rpc/fields.h"

#include <algorithm>
#include <cmath>

#include "sluice/base/text.h"

namespace sluice::rpc {
namespace {

/// "%f" of the largest double has 317 characters.
constexpr std::size_t kNumberText = 400;

}  // namespace

std::string to_utf8(std::string_view bytes) {
    std::string out;
    out.reserve(bytes.size());
    while (!bytes.empty()) {
        const std::size_t n = utf8_sequence(bytes);
        if (n > 0) {
            out.append(bytes.substr(0, n));
        } else {
            const auto c = static_cast<unsigned char>(bytes[0]);
            out += static_cast<char>(0xC0 | (c >> 6));
            out += static_cast<char>(0x80 | (c & 0x3F));
        }
        bytes.remove_prefix(std::max<std::size_t>(n, 1));
    }
    return out;
}

std::string_view cut_utf8(std::string_view text, std::size_t max_bytes) {
    if (text.size() <= max_bytes) return text;
    while (max_bytes > 0 && (static_cast<unsigned char>(text[max_bytes]) & 0xC0u) == 0x80u) --max_bytes;
    return text.substr(0, max_bytes);
}

void read_number(XmlReader& xml, double& out) {
    const auto text = xml.text(kNumberText);
    const auto value = text ? parse_double(*text) : std::nullopt;
    if (value) out = std::clamp(finite_or_zero(*value), -kMaxNumber, kMaxNumber);
}

void read_int64(XmlReader& xml, std::int64_t& out) {
    const auto text = xml.text(kNumberText);
    if (!text) return;
    if (const auto value = parse_int(*text)) {
        out = *value;
    } else if (const auto real = parse_double(*text)) {
        out = static_cast<std::int64_t>(std::clamp(finite_or_zero(*real), -kMaxNumber, kMaxNumber));
    }
}

void read_int(XmlReader& xml, int& out) {
    std::int64_t value = out;
    read_int64(xml, value);
    out = clamp_to_int32(value);
}

void read_bool(XmlReader& xml, bool& out) {
    if (const auto value = xml.boolean()) out = *value;
}

void read_text(XmlReader& xml, std::string& out, std::size_t max_bytes, TooLong too_long) {
    if (too_long == TooLong::kCut) {
        out = cut_utf8(to_utf8(xml.text_cut(max_bytes)), max_bytes);
    } else if (auto text = xml.text(max_bytes)) {
        out = to_utf8(*text);
        if (out.size() > max_bytes) out.clear();
    }
}

}  // namespace sluice::rpc
