// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Which features are on together, and the machines that take part.
#include <fmt/format.h>

#include <set>
#include <string>
#include <vector>

#include "sluice/model/codes.h"

namespace sluice::test {

enum Feature { kSizes, kAccel, kLet, kHr, kAllApps, kFeatures };
inline constexpr const char* kNames[] = {"Sizes", "Accel", "Let", "Hr", "AllApps"};
struct Case {
    std::set<Feature> on;
    int level;
    bool has(Feature f) const { return on.contains(f); }
};
inline std::string name_of(const Case& c) {
    if (c.on.size() == kFeatures) return fmt::format("AllLevel{}", c.level);
    std::string name;
    for (const Feature f : c.on) name += (name.empty() ? "" : "With") + std::string(kNames[f]);
    return fmt::format("{}Level{}", name, c.level);
}
inline void PrintTo(const Case& c, std::ostream* out) { *out << name_of(c); }

inline std::vector<Case> all_cases() {
    std::vector<Case> cases;
    for (const int level : {0, 1}) {
        for (int a = 0; a < kFeatures; ++a)
            for (int b = a + 1; b < kFeatures; ++b)
                cases.push_back({{static_cast<Feature>(a), static_cast<Feature>(b)}, level});
        cases.push_back({{kSizes, kAccel, kLet, kHr, kAllApps}, level});
    }
    return cases;
}

/// Machines of three HR classes. The numbers are upstream's: 128 times the system plus the processor's code.
struct Kind {
    const char *os, *vendor, *model;
    int hr_class;
    double credit;
};
inline constexpr Kind kKinds[] = {{"Linux Ubuntu", "GenuineIntel", "Intel(R) Core(TM) i7", 277, 60},
                                  {"Microsoft Windows 10", "AuthenticAMD", "AMD Opteron(tm) 6380", 392, 30},
                                  {"Darwin", "Power Macintosh", "Power Macintosh [PowerMac3,6]", 516, 10}};
inline const Kind& kind_of(Id host) { return kKinds[host % 3]; }

}  // namespace sluice::test
