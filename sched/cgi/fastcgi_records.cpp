// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/cgi/fastcgi_records.h"

#include <algorithm>
#include <optional>

namespace sluice::fastcgi {
namespace {

constexpr std::size_t kHeader = 8;
constexpr std::size_t kMostContent = 65535;

std::size_t byte(std::string_view bytes, std::size_t at) { return static_cast<unsigned char>(bytes[at]); }

/// A length of a name or value: one byte, or four with the highest bit set.
std::optional<std::size_t> take_length(std::string_view& rest) {
    if (rest.empty()) return std::nullopt;
    std::size_t n = byte(rest, 0), size = 1;
    if (n >= 128) {
        if (rest.size() < 4) return std::nullopt;
        n = (n & 127) << 24 | byte(rest, 1) << 16 | byte(rest, 2) << 8 | byte(rest, 3);
        size = 4;
    }
    rest.remove_prefix(size);
    return n;
}

std::string length(std::size_t n) {
    if (n < 128) return std::string(1, static_cast<char>(n));
    return {static_cast<char>(0x80 | (n >> 24)), static_cast<char>(n >> 16), static_cast<char>(n >> 8),
            static_cast<char>(n)};
}

}  // namespace

bool RecordReader::feed(std::string_view bytes, RecordSink& sink) {
    while (!bytes.empty()) {
        if (header_.size() < kHeader) {
            const std::size_t n = std::min(bytes.size(), kHeader - header_.size());
            header_.append(bytes.substr(0, n));
            bytes.remove_prefix(n);
            if (header_.size() < kHeader) return true;
            if (header_[0] != 1) return false;
            content_ = byte(header_, 4) << 8 | byte(header_, 5);
            padding_ = byte(header_, 6);
        }
        const auto type = static_cast<RecordType>(header_[1]);
        const auto id = static_cast<std::uint16_t>(byte(header_, 2) << 8 | byte(header_, 3));
        const bool empty = byte(header_, 4) == 0 && byte(header_, 5) == 0;
        const std::size_t n = std::min(bytes.size(), content_);
        if ((n > 0 || empty) && !sink.on_content(type, id, bytes.substr(0, n))) return false;
        if (empty) header_[5] = 1;  // said once; its padding may still come
        content_ -= n;
        bytes.remove_prefix(n);
        const std::size_t skipped = content_ == 0 ? std::min(bytes.size(), padding_) : 0;
        padding_ -= skipped;
        bytes.remove_prefix(skipped);
        if (content_ == 0 && padding_ == 0) header_.clear();
    }
    return true;
}

std::string variable(std::string_view params, std::string_view name) {
    while (!params.empty()) {
        const auto name_size = take_length(params);
        const auto value_size = name_size ? take_length(params) : std::nullopt;
        if (!value_size || *name_size > params.size() || *value_size > params.size() - *name_size) return "";
        if (params.substr(0, *name_size) == name) return std::string(params.substr(*name_size, *value_size));
        params.remove_prefix(*name_size + *value_size);
    }
    return "";
}

std::string pair(std::string_view name, std::string_view value) {
    return length(name.size()) + length(value.size()) + std::string(name) + std::string(value);
}

std::string record(RecordType type, std::uint16_t id, std::string_view content) {
    std::string out{1,
                    static_cast<char>(type),
                    static_cast<char>(id >> 8),
                    static_cast<char>(id),
                    static_cast<char>(content.size() >> 8),
                    static_cast<char>(content.size()),
                    0,
                    0};
    return out.append(content);
}

std::string answer(std::uint16_t id, std::string_view text) {
    std::string out;
    out.reserve(text.size() + (text.size() / kMostContent + 3) * kHeader + kHeader);
    for (; !text.empty(); text.remove_prefix(std::min(text.size(), kMostContent)))
        out += record(kStdout, id, text.substr(0, kMostContent));
    return out + record(kStdout, id, "") + record(kEndRequest, id, std::string(8, '\0'));
}

}  // namespace sluice::fastcgi
