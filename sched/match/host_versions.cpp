// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/match/host_versions.h"

namespace sluice::match {

std::vector<long> dotted_number(std::string_view text, std::size_t most) {
    std::vector<long> parts;
    std::size_t i = 0;
    const auto digit = [&] { return i < text.size() && text[i] >= '0' && text[i] <= '9'; };
    while (parts.size() < most && digit()) {
        long v = 0;
        for (; digit(); ++i) v = v < 100000000 ? v * 10 + (text[i] - '0') : v;
        parts.push_back(v);
        if (i >= text.size() || text[i] != '.') break;
        ++i;
    }
    return parts;
}

double os_version_number(std::string_view os_name, std::string_view version) {
    const auto is = [&](std::string_view name) { return os_name.find(name) != std::string_view::npos; };
    const auto three = [](std::string_view text) {
        const auto p = dotted_number(text, 3);
        return p.size() == 3
                   ? 10000.0 * static_cast<double>(p[0]) + 100.0 * static_cast<double>(p[1]) + static_cast<double>(p[2])
                   : 0;
    };
    if (is("Darwin")) return three(version);
    if (is("Windows")) {
        const auto at = version.rfind('(');
        if (at == std::string_view::npos) return 0;
        const auto p = dotted_number(version.substr(at + 1), 4);
        if (p.size() != 4) return 0;
        return 1e8 * static_cast<double>(p[0]) + 1e6 * static_cast<double>(p[1]) + 100.0 * static_cast<double>(p[2]) +
               static_cast<double>(p[3]);
    }
    if (is("Android")) return three(version);
    if (!is("Linux")) return 0;
    const auto at = version.find('[');
    return three(at == std::string_view::npos ? version : version.substr(at + 1));
}

long two_part_version(std::string_view text) {
    const auto p = dotted_number(text, 2);
    return p.size() == 2 ? p[0] * 100 + p[1] : 0;
}

long libc_version_number(std::string_view os_version) {
    static constexpr std::string_view kMark = "|libc ";
    const auto at = os_version.find(kMark);
    return at == std::string_view::npos ? 0 : two_part_version(os_version.substr(at + kMark.size()));
}

long android_version_number(std::string_view os_version) {
    static constexpr std::string_view kMark = "(Android ";
    const auto at = os_version.find(kMark);
    if (at == std::string_view::npos) return 0;
    auto p = dotted_number(os_version.substr(at + kMark.size()), 3);
    if (p.empty()) return 0;
    p.resize(3);
    return p[0] * 10000 + p[1] * 100 + p[2];
}

}  // namespace sluice::match
