// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/canary/choice.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace sluice {
namespace {

constexpr std::string_view kBlank = " \t\r\n";
constexpr std::size_t kLongestKey = 256;

/// The text of the first element of that name, without blanks around it; empty: there is none.
std::string_view first_element(std::string_view text, std::string_view name) {
    const std::string open = "<" + std::string(name) + ">";
    const std::size_t begin = text.find(open);
    if (begin == text.npos) return {};
    text.remove_prefix(begin + open.size());
    text = text.substr(0, std::min(text.find('<'), kLongestKey));
    const std::size_t first = text.find_first_not_of(kBlank);
    if (first == text.npos) return {};
    return text.substr(first, text.find_last_not_of(kBlank) + 1 - first);
}

double number(std::string_view text) { return std::strtod(std::string(text).c_str(), nullptr); }

/// FNV-1a, and a last step that spreads what differs in few bits: ids of hosts follow each other.
std::uint64_t spread(std::string_view key) {
    std::uint64_t hash = 14695981039346656037ULL;
    for (const char c : key) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
    hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9ULL;
    hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebULL;
    return hash ^ (hash >> 31);
}

}  // namespace

std::string host_key(std::string_view request) {
    const std::string_view id = first_element(request, "hostid");
    if (const long long host = std::atoll(std::string(id).c_str()); host > 0) return "host " + std::to_string(host);
    for (const char* name : {"host_cpid", "authenticator"})
        if (const std::string_view text = first_element(request, name); !text.empty())
            return std::string(name) + " " + std::string(text);
    return {};
}

bool goes_to_sluice(std::string_view key, int share) {
    return !key.empty() && spread(key) % kAllHosts < static_cast<std::uint64_t>(std::max(share, 0));
}

bool asks_for_work(std::string_view request) {
    return number(first_element(request, "work_req_seconds")) > 0 || number(first_element(request, "cpu_req_secs")) > 0;
}

}  // namespace sluice
