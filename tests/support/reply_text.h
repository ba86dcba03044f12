// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <string>
#include <vector>

#include "tests/support/subprocess.h"

namespace sluice::test {

/// Exactly what came back, and what is in it.
struct ReplyText {
    RunResult run;
    const std::string& text() const { return run.out; }
    int count(const std::string& part) const;
    bool has(const std::string& part) const { return count(part) > 0; }
    /// The text of the first <tag>…</tag>; empty if there is none.
    std::string value(const std::string& tag) const;
    /// Texts of all <result> elements' names.
    std::vector<std::string> result_names() const;
    std::vector<std::string> messages() const;
    /// Empty, or what is wrong with its frame: header, one root, nothing after it.
    std::string malformed() const;
};

}  // namespace sluice::test
