// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/base/shell_text.h"

#include "sluice/base/text.h"

namespace sluice {

std::string shell_quoted(const std::string& word) {
    const bool plain = !word.empty() && word.find_first_not_of(
                                            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                            "0123456789._-/=:,+@%") == std::string::npos;
    if (plain) return word;
    std::string quoted = word;
    replace_all(quoted, "'", "'\\''");
    return "'" + quoted + "'";
}

std::string ownership_command(const std::string& owner, const std::string& group, const std::string& mode,
                              const std::string& words) {
    return "chown " + owner + ":" + group + " " + words + " && chmod " + mode + " " + words;
}

}  // namespace sluice
