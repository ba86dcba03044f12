// SPDX-License-Identifier: LGPL-3.0-or-later
#include "src/base/key_text.h"

#include <numeric>

#include "sluice/base/files.h"
#include "sluice/base/text.h"

namespace sluice::key_text {
namespace {

constexpr std::size_t kBytesPerLine = 32;

int digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

}  // namespace

std::string encode(const Bytes& bytes) {
    static constexpr char kDigits[] = "0123456789abcdef";
    std::string out;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        out += {kDigits[bytes[i] >> 4], kDigits[bytes[i] & 15]};
        if ((i + 1) % kBytesPerLine == 0) out += '\n';
    }
    if (bytes.size() % kBytesPerLine != 0) out += '\n';
    return out + ".\n";
}

Bytes decode(std::string_view text) {
    Bytes bytes;
    int high = -1;
    for (const char c : text) {
        if (c == '\n' || c == '\r' || c == ' ' || c == '\t') continue;
        const int value = digit(c);
        if (value < 0) break;
        if (high < 0) {
            high = value;
        } else {
            bytes.push_back(static_cast<unsigned char>(high * 16 + value));
            high = -1;
        }
    }
    return bytes;
}

std::string write_key(const std::vector<Bytes>& numbers) {
    Bytes all;
    for (const Bytes& number : numbers) all.insert(all.end(), number.begin(), number.end());
    return "1024\n" + encode(all);
}

std::vector<Bytes> read_key(std::string_view text, std::span<const std::size_t> sizes) {
    const auto line_end = text.find('\n');
    if (line_end == std::string_view::npos || trim(text.substr(0, line_end)) != "1024") {
        throw ConfigError("the first line of a key is its size in bits, 1024, and nothing else");
    }
    const Bytes all = decode(text.substr(line_end + 1));
    const std::size_t expected = std::accumulate(sizes.begin(), sizes.end(), std::size_t{0});
    if (all.size() != expected) {
        throw ConfigError("a key of this kind has " + std::to_string(expected) + " bytes, this one has " +
                          std::to_string(all.size()));
    }
    std::vector<Bytes> numbers;
    auto at = all.begin();
    for (const std::size_t size : sizes) {
        const auto end = at + static_cast<std::ptrdiff_t>(size);
        numbers.emplace_back(at, end);
        at = end;
    }
    if ((numbers[0][0] & 0x80) == 0) throw ConfigError("the modulus has less than 1024 bits");
    return numbers;
}

std::string read_file_of(const std::filesystem::path& file, const char* kind) {
    auto text = read_file(file, 1 << 20);
    if (!text) {
        throw ConfigError("There is no " + std::string(kind) + " key " + file.string() +
                          "; a project that has clients needs the one it had (they refuse what a new one signs): "
                          "restore it. For a new project: crypt_prog -genkey 1024 PRIVATE_FILE PUBLIC_FILE");
    }
    return std::move(*text);
}

void bad_key(const std::filesystem::path& file, const char* kind, const Error& why) {
    throw ConfigError(file.string() + " is not a " + kind + " key: " + why.what());
}

}  // namespace sluice::key_text
