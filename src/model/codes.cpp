// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/model/codes.h"

#include <array>
#include <string_view>
#include <utility>

namespace sluice {

const char* proc_type_name(ProcType type) {
    switch (type) {
        case ProcType::kCpu: return "CPU";
        case ProcType::kNvidia: return "NVIDIA";
        case ProcType::kAmd: return "ATI";
        case ProcType::kIntelGpu: return "intel_gpu";
        case ProcType::kAppleGpu: return "apple_gpu";
    }
    return "unknown";
}

const char* proc_type_user_name(ProcType type) {
    switch (type) {
        case ProcType::kCpu: return "CPU";
        case ProcType::kNvidia: return "NVIDIA GPU";
        case ProcType::kAmd: return "AMD/ATI GPU";
        case ProcType::kIntelGpu: return "Intel GPU";
        case ProcType::kAppleGpu: return "Apple GPU";
    }
    return "unknown";
}

ProcType proc_type_of_plan_class(const char* plan_class) {
    static constexpr std::array<std::pair<std::string_view, ProcType>, 6> kMarks{{{"cuda", ProcType::kNvidia},
                                                                                  {"nvidia", ProcType::kNvidia},
                                                                                  {"ati", ProcType::kAmd},
                                                                                  {"amd", ProcType::kAmd},
                                                                                  {"intel_gpu", ProcType::kIntelGpu},
                                                                                  {"apple_gpu", ProcType::kAppleGpu}}};
    const std::string_view name = plan_class == nullptr ? "" : plan_class;
    for (const auto& [mark, type] : kMarks) {
        if (name.find(mark) != std::string_view::npos) return type;
    }
    return ProcType::kCpu;
}

}  // namespace sluice
