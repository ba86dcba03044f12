// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/base/own_host.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <memory>

#include "sluice/base/text.h"

namespace sluice {

std::string own_host_name() {
    std::array<char, 256> name{};
    return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

bool is_own_address(const std::string& text) {
    in_addr v4{};
    in6_addr v6{};
    const bool is_v4 = inet_pton(AF_INET, text.c_str(), &v4) == 1;
    if (!is_v4 && inet_pton(AF_INET6, text.c_str(), &v6) != 1) return false;
    ifaddrs* all = nullptr;
    if (getifaddrs(&all) != 0) return false;
    const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(all, &freeifaddrs);
    for (const ifaddrs* i = all; i != nullptr; i = i->ifa_next) {
        if (i->ifa_addr == nullptr || i->ifa_addr->sa_family != (is_v4 ? AF_INET : AF_INET6)) continue;
        if (is_v4) {
            sockaddr_in own{};
            std::memcpy(&own, i->ifa_addr, sizeof own);
            if (own.sin_addr.s_addr == v4.s_addr) return true;
        } else {
            sockaddr_in6 own{};
            std::memcpy(&own, i->ifa_addr, sizeof own);
            if (std::memcmp(&own.sin6_addr, &v6, sizeof v6) == 0) return true;
        }
    }
    return false;
}

bool is_loopback_name(std::string_view name) {
    const std::string lower = to_lower_ascii(name);
    in_addr v4{};
    const bool is_v4 = inet_pton(AF_INET, lower.c_str(), &v4) == 1;
    return lower == "localhost" || lower.starts_with("localhost.") || lower == "::1" || lower == "[::1]" ||
           (is_v4 && lower.starts_with("127."));
}

}  // namespace sluice
