// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Internet addresses that begin with the same bits, as admins write them: "192.0.2.7", "10.0.0.0/8", "2001:db8::/32".
#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace sluice {

class AddressRange {
  public:
    /// nullopt: it is none.
    static std::optional<AddressRange> parse(std::string_view text);
    /// False, too, for what is no address. An IPv4 address may be written as IPv6 (::ffff:192.0.2.7).
    bool holds(const std::string& address) const;

  private:
    using Bytes = std::array<unsigned char, 16>;  ///< IPv6; IPv4 addresses are ::ffff:…
    static std::optional<Bytes> bytes_of(const std::string& address);
    Bytes first_{};
    int bits_ = 128;
};

}  // namespace sluice
