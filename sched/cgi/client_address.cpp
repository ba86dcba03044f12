// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/cgi/client_address.h"

#include <algorithm>

#include "sluice/base/text.h"

namespace sluice {
namespace {

constexpr std::size_t kColumn = 254;  // host.external_ip_addr

}  // namespace

std::string client_address(const std::string& remote_addr, std::string_view forwarded_for,
                           std::span<const AddressRange> proxies) {
    std::string address = remote_addr;
    const auto is_proxy = [&] { return std::ranges::any_of(proxies, [&](const auto& p) { return p.holds(address); }); };
    while (is_proxy()) {
        const std::size_t comma = forwarded_for.rfind(',');
        const std::string before(trim(forwarded_for.substr(comma + 1)));  // npos + 1 is 0
        if (before.empty()) break;
        address = before;
        forwarded_for = comma == std::string_view::npos ? std::string_view() : forwarded_for.substr(0, comma);
    }
    std::replace_if(
        address.begin(), address.end(), [](unsigned char c) { return c < ' ' || c > '~'; }, '?');
    if (address.size() > kColumn) address.resize(kColumn);
    return address.empty() ? "?.?.?.?" : address;
}

}  // namespace sluice
