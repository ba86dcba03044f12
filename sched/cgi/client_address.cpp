#include "client_address.h"

#include <arpa/inet.h>

#include <algorithm>

#include "sluice/base/text.h"

namespace sluice {
namespace {

constexpr std::size_t kColumn = 254;  // host.external_ip_addr

bool is_private_v4(std::uint32_t a) { return a >> 24 == 127 || a >> 24 == 10 || a >> 20 == 0xac1 || a >> 16 == 0xc0a8; }

/// Loopback, 10/8, 172.16/12, 192.168/16, ::1, fc00::/7, fe80::/10, and IPv4 ones written as IPv6.
bool is_private(const std::string& address) {
    in_addr v4{};
    if (::inet_pton(AF_INET, address.c_str(), &v4) == 1) return is_private_v4(ntohl(v4.s_addr));
    in6_addr v6{};
    if (::inet_pton(AF_INET6, address.c_str(), &v6) != 1) return false;
    if (IN6_IS_ADDR_V4MAPPED(&v6)) {
        const auto byte = [&](int i) { return static_cast<std::uint32_t>(v6.s6_addr[i]); };
        return is_private_v4(byte(12) << 24 | byte(13) << 16 | byte(14) << 8 | byte(15));
    }
    return IN6_IS_ADDR_LOOPBACK(&v6) || IN6_IS_ADDR_LINKLOCAL(&v6) || (v6.s6_addr[0] & 0xfe) == 0xfc;
}

}  // namespace

std::string client_address(const std::string& remote_addr, std::string_view forwarded_for) {
    std::string address = remote_addr;
    const std::string last(trim(forwarded_for.substr(forwarded_for.rfind(',') + 1)));
    if (!last.empty() && (address.empty() || is_private(address))) address = last;
    std::replace_if(
        address.begin(), address.end(), [](unsigned char c) { return c < ' ' || c > '~'; }, '?');
    if (address.size() > kColumn) address.resize(kColumn);
    return address.empty() ? "?.?.?.?" : address;
}

}  // namespace sluice
