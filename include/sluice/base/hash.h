// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace sluice {

/// 2n lower-case hex digits.
std::string hex(const unsigned char* bytes, std::size_t n);
/// MD5 as 32 lower-case hex digits (BOINC's file checksums, weak keys, e-mail hashes; not for security).
std::string md5_hex(std::string_view data);
/// Of a file's content, read in blocks. Throws FileError.
std::string md5_hex_of_file(const std::filesystem::path& path);
/// Bytes that count as zeros.
struct MaskedRange {
    std::size_t from = 0, to = 0;
};
/// Of what is still to be read from `fd`. Throws FileError, which calls it `name`.
std::string md5_hex_of(int fd, const std::filesystem::path& name, MaskedRange ignored = {});
/// HMAC-SHA256 as 64 lower-case hex digits. Throws Error where OpenSSL does not do it.
std::string hmac_sha256_hex(std::string_view key, std::string_view text);
/// n random bytes from the kernel, as 2n lower-case hex digits.
std::string random_hex(int n_bytes);

}  // namespace sluice
