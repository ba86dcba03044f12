// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The text form of BOINC's keys and signatures: hex digits, 64 a line, then a line with ".". A key file starts with its
// size in bits, always 1024. Its numbers follow one after the other, each of a fixed size with zeros on the left.
#include <array>
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/base/error.h"

namespace sluice::key_text {

using Bytes = std::vector<unsigned char>;

inline constexpr std::size_t kModulusBytes = 128;
/// Modulus, exponent.
inline constexpr std::array<std::size_t, 2> kPublicSizes{128, 128};
/// Modulus, public exponent, private exponent, two primes, their two exponents, coefficient.
inline constexpr std::array<std::size_t, 8> kPrivateSizes{128, 128, 128, 64, 64, 64, 64, 64};

/// Lines of 64 digits, then ".\n".
std::string encode(const Bytes& bytes);
/// White space is skipped, the first other character that is not a hex digit ends the text; a half byte is dropped.
Bytes decode(std::string_view text);

std::string write_key(const std::vector<Bytes>& numbers);
/// Throws ConfigError (without a file name) if it is no key of these sizes.
std::vector<Bytes> read_key(std::string_view text, std::span<const std::size_t> sizes);

/// The text of a key file; `kind`: "private" or "public". Throws ConfigError.
std::string read_file_of(const std::filesystem::path& file, const char* kind);
[[noreturn]] void bad_key(const std::filesystem::path& file, const char* kind, const Error& why);

}  // namespace sluice::key_text
