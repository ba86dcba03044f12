// SPDX-License-Identifier: LGPL-3.0-or-later
#include "db/mysql/host_versions_text.h"

#include "sluice/base/text.h"

namespace sluice {

std::optional<std::vector<HostAppVersion>> read_versions_text(Id hostid, std::string_view text) {
    constexpr std::size_t kFields = 14;
    if (text.size() >= kLongestVersionsText) return std::nullopt;
    std::vector<HostAppVersion> versions;
    while (!text.empty()) {
        const std::size_t end = text.find(';');
        if (end == text.npos) return std::nullopt;
        const std::vector<std::string_view> fields = split(text.substr(0, end), ',');
        text.remove_prefix(end + 1);
        if (fields.size() != kFields) return std::nullopt;
        std::size_t next = 0;
        const auto number = [&] { return parse_double(fields[next++]).value_or(0); };
        const auto integer = [&] { return static_cast<int>(number()); };  // of 32 bits: exact as a double
        HostAppVersion v;
        v.host_id = hostid;
        v.app_version_id = integer();
        v.pfc_n = number();
        v.pfc_avg = number();
        for (double* d : {&v.et.n, &v.et.avg, &v.et.var, &v.et.q}) *d = number();
        v.max_jobs_per_day = integer();
        v.n_jobs_today = integer();
        for (double* d : {&v.turnaround.n, &v.turnaround.avg, &v.turnaround.var, &v.turnaround.q}) *d = number();
        v.consecutive_valid = integer();
        versions.push_back(v);
    }
    return versions;
}

}  // namespace sluice
