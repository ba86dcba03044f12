// SPDX-License-Identifier: LGPL-3.0-or-later
// Homogeneous redundancy: hosts of one class compute the same bits. class = system * 128 + processor code; the codes
// are upstream's, because workunit.hr_class in existing databases holds them. Level 1 adds systems that upstream leaves
// out.
#include <algorithm>
#include <string_view>

#include "sluice/base/text.h"
#include "sluice/match/matcher.h"

namespace sluice {
namespace {

constexpr int kSystemStep = 128;
enum System { kNoSystem = 1, kLinux = 2, kWindows = 3, kDarwin = 4, kFreeBsd = 5, kAndroid = 6 };
enum Cpu {
    kNoCpu = 1,
    kIntel = 2,
    kAmd = 3,
    kMacintosh = 4,
    kAthlon = 5,
    kDuron = 6,
    kSempron = 7,
    kOpteron = 8,
    kAthlon64 = 9,
    kAthlonXp = 10,
    kXeon = 11,
    kCeleron = 12,
    kPentium = 13,
    kPentium2 = 14,
    kPentium3 = 15,
    kPentium4 = 16,
    kPentiumD = 17,
    kPentiumM = 18,
    kAthlonMp = 19,
    kTurion = 20,
    kCore = 21,
    kArm = 22,
    kAppleSilicon = 23  ///< ours, level 1
};

struct Pattern {
    const char* text;
    int code;
};

bool mentions(std::string_view text, std::string_view part) { return contains_ignoring_case(text, part); }

template <std::size_t N>
int first_match(std::string_view text, const Pattern (&patterns)[N], int otherwise) {
    for (const Pattern& p : patterns)
        if (mentions(text, p.text)) return p.code;
    return otherwise;
}

using Platforms = std::span<const std::string>;

/// Some Android clients call their system "Linux"; their platforms are aarch64-android-linux-gnu and the like.
bool is_android(const Host& host, Platforms platforms) {
    return mentions(host.os_name, "Android") ||
           std::any_of(platforms.begin(), platforms.end(),
                       [](const std::string& p) { return mentions(p, "-android-"); });
}

/// Vendors of phone and board processors are many, and none is "ARM" on most of them.
bool is_arm(const Host& host, Platforms platforms) {
    if (mentions(host.p_vendor, "ARM") || mentions(host.p_model, "AArch64")) return true;
    return !platforms.empty() && (platforms.front().starts_with("arm") || platforms.front().starts_with("aarch64"));
}

int system_code(const Host& host, int level, Platforms platforms) {
    if (level > 0 && is_android(host, platforms)) return kAndroid;
    static constexpr Pattern kSystems[] = {
        {"Linux", kLinux}, {"Windows", kWindows}, {"Darwin", kDarwin}, {"FreeBSD", kFreeBsd}, {"Android", kAndroid}};
    return first_match(host.os_name, kSystems, kNoSystem);
}

int intel_code(std::string_view model) {
    if (mentions(model, "Xeon")) return kXeon;
    if (mentions(model, "Celeron")) {
        static constexpr Pattern kKinds[] = {{" M ", kPentiumM}, {" D ", kPentiumD}, {"III", kPentium3}};
        return first_match(model, kKinds, kCeleron);
    }
    if (mentions(model, "Core")) return kCore;
    if (mentions(model, "Pentium")) {
        static constexpr Pattern kKinds[] = {
            {"III", kPentium3}, {"II", kPentium2}, {" 4 ", kPentium4}, {" D ", kPentiumD}, {" M ", kPentiumM}};
        return first_match(model, kKinds, kPentium);
    }
    if (!mentions(model, "x86")) return kIntel;
    // Prefixes: "Family 6 Model 1" also takes Model 158, as the classes in existing databases do.
    static constexpr Pattern kFamilies[] = {
        {"Family 6 Model 6", kCeleron},   {"Family 6 Model 9", kPentiumM},  {"Family 6 Model 10", kXeon},
        {"Family 5 Model 1", kPentium},   {"Family 5 Model 2", kPentium},   {"Family 6 Model 1", kPentium},
        {"Family 15 Model 1", kPentium4}, {"Family 15 Model 2", kPentium4}, {"Family 6 Model 7", kPentium3},
        {"Family 6 Model 8", kPentium3},  {"Family 6 Model 11", kPentium3}, {"Family 6 Model 3", kPentium2},
        {"Family 6 Model 5", kPentium2}};
    return first_match(model, kFamilies, kIntel);
}

int amd_code(std::string_view model) {
    if (mentions(model, "Duron")) return kDuron;
    if (mentions(model, "Opteron")) return kOpteron;
    if (mentions(model, "Sempron")) return kSempron;
    if (mentions(model, "Turion")) return kTurion;
    if (!mentions(model, "Athlon")) return kAmd;
    static constexpr Pattern kKinds[] = {{"XP", kAthlonXp}, {"MP", kAthlonMp}, {"64", kAthlon64}};
    return first_match(model, kKinds, kAthlon);
}

bool apple_silicon(const Host& host) {
    return mentions(host.p_vendor, "Apple") || host.p_model.compare(0, 7, "Apple M") == 0;
}

int fine_code(const Host& host, int level) {
    if (mentions(host.p_vendor, "Intel")) return intel_code(host.p_model);
    if (mentions(host.p_vendor, "AMD")) return amd_code(host.p_model);
    if (mentions(host.p_vendor, "Macintosh")) return kMacintosh;
    if (mentions(host.p_vendor, "ARM")) return kArm;
    if (level > 0 && apple_silicon(host)) return kAppleSilicon;
    return kNoCpu;
}

int coarse_code(const Host& host, int level, Platforms platforms) {
    if (mentions(host.p_vendor, "Intel") || mentions(host.p_vendor, "AMD")) return kIntel;
    if (mentions(host.p_vendor, "Macintosh")) return kMacintosh;
    if (mentions(host.p_vendor, "ARM") || host.p_model.find("ARM") != std::string::npos) return kArm;
    if (level > 0 && apple_silicon(host)) return kAppleSilicon;
    return level > 0 && is_arm(host, platforms) ? kArm : kNoCpu;
}

bool coarse_known(int system, int cpu, int level) {
    switch (system) {
        case kLinux:
        case kWindows: return true;
        case kDarwin: return cpu == kIntel || cpu == kMacintosh || (level > 0 && cpu != kNoCpu);
        case kFreeBsd:
        case kAndroid: return level > 0 && cpu != kNoCpu;
        default: return false;
    }
}

}  // namespace

int hr_class(const Host& host, HrType type, int compat_level, std::span<const std::string> platforms) {
    const int system = system_code(host, compat_level, platforms);
    if (type == HrType::kFine) {
        const int cpu = fine_code(host, compat_level);
        return system == kNoSystem || cpu == kNoCpu ? 0 : system * kSystemStep + cpu;
    }
    if (type == HrType::kCoarse) {
        const int cpu = coarse_code(host, compat_level, platforms);
        return coarse_known(system, cpu, compat_level) ? system * kSystemStep + cpu : 0;
    }
    return 0;
}

}  // namespace sluice
