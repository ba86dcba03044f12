// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "sluice/base/address_range.h"

namespace sluice {

/// Who asks, for the log and host.external_ip_addr; never trusted. Anybody can send X-Forwarded-For: it counts only if
/// one of the project's own `proxies` handed the request on, and of it the last address that is not such a proxy, which
/// is the one that a proxy saw itself. "?.?.?.?": nobody says.
std::string client_address(const std::string& remote_addr, std::string_view forwarded_for,
                           std::span<const AddressRange> proxies);

}  // namespace sluice
