#include "phrases.h"

#include <fmt/format.h>

#include <cmath>
#include <string_view>

#include "sluice/model/codes.h"

namespace sluice {
namespace {

std::string client_text(double v) {
    const auto n = static_cast<long>(v);
    return fmt::format("{}.{}.{}", n / 10000, n / 100 % 100, n % 100);
}

const char* state_text(int state) {
    switch (static_cast<ServerState>(state)) {
        case ServerState::kInactive: return "inactive";
        case ServerState::kUnsent: return "unsent";
        case ServerState::kInProgress: return "in progress";
        case ServerState::kOver: return "over";
    }
    return "gone";
}

std::string of_unit(const Verdict& v) {
    const std::string_view unit = reason_unit(v.reason);
    if (unit == "bytes") return fmt::format("needs {}, host allows {}", bytes_text(v.required), bytes_text(v.value));
    if (unit == "bytes/s")
        return fmt::format("needs {}/s, host measured {}/s", bytes_text(v.required), bytes_text(v.value));
    if (unit == "jobs") return fmt::format("has {:g}, limit {:g}", v.value, v.required);
    if (unit == "results") return fmt::format("{:g} there already", v.value);
    return fmt::format("has {:g}, needs {:g}", v.value, v.required);
}

}  // namespace

std::string bytes_text(double b) {
    if (!std::isfinite(b)) return "unlimited";
    const double a = std::abs(b);
    if (a >= 1e12) return fmt::format("{:.1f} TB", b / 1e12);
    if (a >= 1e9) return fmt::format("{:.1f} GB", b / 1e9);
    if (a >= 1e6) return fmt::format("{:.1f} MB", b / 1e6);
    return a >= 1e3 ? fmt::format("{:.1f} kB", b / 1e3) : fmt::format("{:.0f} bytes", b);
}

std::string duration_text(double s) {
    if (!std::isfinite(s)) return "for ever";
    if (std::abs(s) < 7200) return fmt::format("{:.0f} s", s);
    return std::abs(s) < 2 * 86400 ? fmt::format("{:.1f} h", s / 3600) : fmt::format("{:.1f} d", s / 86400);
}

std::string phrase(const Verdict& v) {
    switch (v.reason) {
        case Reason::kDeadline:
            if (v.required == 0) return "the app is hard and the host has no credit yet";
            return fmt::format("would be done in {}, must be done in {}", duration_text(v.value),
                               duration_text(v.required));
        case Reason::kDeadlineOthers: return fmt::format("another job would be {} late", duration_text(v.value));
        case Reason::kReservedForLtt:
            if (v.required > 1)
                return fmt::format("has waited {} of {} for low-turnaround hosts", duration_text(v.value),
                                   duration_text(v.required));
            return "waits for low-turnaround hosts";
        case Reason::kClientTooOld:
            return fmt::format("needs client {}, host runs {}", client_text(v.required), client_text(v.value));
        case Reason::kClientTooNew:
            return fmt::format("needs client {} or older, host runs {}", client_text(v.required), client_text(v.value));
        case Reason::kHrClassMismatch:
        case Reason::kHrCommittedElsewhere:
            return fmt::format("committed to class {:g}, host is of class {:g}", v.required, v.value);
        case Reason::kAppVersionMismatch:
        case Reason::kVersionCommittedElsewhere:
            return v.required == 0 ? ""
                                   : fmt::format("bound to version {:g}{}", v.required,
                                                 v.value != 0 ? fmt::format(", host would run {:g}", v.value) : "");
        case Reason::kKeywordRefused: return fmt::format("keyword {:g}", v.value);
        case Reason::kNoSuchApp: return fmt::format("app id {:g}", v.value);
        case Reason::kUserFilter: return fmt::format("for user {:g}, this is user {:g}", v.required, v.value);
        case Reason::kResultGone:
            return v.value == 0 ? "" : fmt::format("it is {}", state_text(static_cast<int>(v.value)));
        case Reason::kLookUpLimit: return fmt::format("after {:g} look-ups in the database", v.value);
        case Reason::kWorkunitError: return fmt::format("error mask {:g}", v.value);
        case Reason::kWorkunitDone: return fmt::format("canonical result {:g}", v.value);
        default: break;
    }
    const std::string_view unit = reason_unit(v.reason);
    const bool says_nothing = v.value == 0 && (v.required == 0 || (v.required == 1 && unit.empty()));
    return says_nothing ? "" : of_unit(v);
}

}  // namespace sluice
