// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/handle/posix_regex.h"

#include <regex.h>

namespace sluice {

struct RegexList::Compiled {
    regex_t regex{};
    bool ok = false;
    ~Compiled() {
        if (ok) regfree(&regex);
    }
};

RegexList::RegexList(const std::vector<std::string>& patterns) {
    for (const std::string& pattern : patterns) {
        auto compiled = std::make_unique<Compiled>();
        if (const int error = regcomp(&compiled->regex, pattern.c_str(), REG_EXTENDED | REG_NOSUB); error != 0) {
            char text[200];
            regerror(error, &compiled->regex, text, sizeof text);
            problems_.push_back("regular expression '" + pattern + "': " + text);
            continue;
        }
        compiled->ok = true;
        compiled_.push_back(std::move(compiled));
    }
}
RegexList::RegexList(RegexList&&) noexcept = default;
RegexList& RegexList::operator=(RegexList&&) noexcept = default;
RegexList::~RegexList() = default;

bool RegexList::matches(const std::string& text) const {
    for (const auto& compiled : compiled_)
        if (regexec(&compiled->regex, text.c_str(), 0, nullptr, 0) == 0) return true;
    return false;
}

}  // namespace sluice
