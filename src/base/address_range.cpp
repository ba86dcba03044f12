// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/base/address_range.h"

#include <arpa/inet.h>

#include <algorithm>

#include "sluice/base/text.h"

namespace sluice {

std::optional<AddressRange::Bytes> AddressRange::bytes_of(const std::string& address) {
    Bytes bytes{};
    if (::inet_pton(AF_INET6, address.c_str(), bytes.data()) == 1) return bytes;
    bytes.fill(0);
    bytes[10] = bytes[11] = 0xff;
    if (::inet_pton(AF_INET, address.c_str(), bytes.data() + 12) == 1) return bytes;
    return std::nullopt;
}

std::optional<AddressRange> AddressRange::parse(std::string_view text) {
    AddressRange range;
    const std::size_t slash = text.find('/');
    const std::string address(text.substr(0, slash));
    const auto bytes = bytes_of(address);
    if (!bytes) return std::nullopt;
    range.first_ = *bytes;
    if (slash == std::string_view::npos) return range;
    const int shift = address.find(':') == std::string::npos ? 96 : 0;
    const std::string_view digits = text.substr(slash + 1);
    const auto bits = digits.empty() ? std::nullopt : parse_int(digits);
    if (!bits || *bits < 0 || *bits > 128 - shift) return std::nullopt;
    range.bits_ = static_cast<int>(*bits) + shift;
    return range;
}

bool AddressRange::holds(const std::string& address) const {
    const auto other = bytes_of(address);
    if (!other) return false;
    const auto whole = static_cast<std::size_t>(bits_ / 8);
    if (!std::equal(first_.begin(), first_.begin() + static_cast<std::ptrdiff_t>(whole), other->begin())) return false;
    if (bits_ % 8 == 0) return true;
    const int mask = 0xff << (8 - bits_ % 8) & 0xff;
    return ((first_[whole] ^ (*other)[whole]) & mask) == 0;
}

}  // namespace sluice
