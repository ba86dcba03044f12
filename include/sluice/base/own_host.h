// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Which names and addresses are this machine's.
#include <string>
#include <string_view>

namespace sluice {

/// gethostname(), in full; "" if it can't be had.
std::string own_host_name();
/// An IPv4 or IPv6 address of one of this machine's interfaces.
bool is_own_address(const std::string& text);
/// "localhost", 127.…, ::1: whatever machine says it means itself.
bool is_loopback_name(std::string_view name);

}  // namespace sluice
