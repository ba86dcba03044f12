// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/paths.h"

namespace sluice::test {

/// make_project for a project "tiles" in `root`, of the programs installed in `prefix`; then `more`.
inline std::vector<std::string> make_project_command(const std::filesystem::path& root,
                                                     const std::filesystem::path& prefix,
                                                     const std::vector<std::string>& more) {
    std::vector<std::string> words{binary_dir() + "/bin/make_project", "--name", "tiles", "--root", root.string()};
    for (const char* word : {"--url_base", "http://127.0.0.1", "--install_from"}) words.emplace_back(word);
    words.push_back(prefix.string());
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

}  // namespace sluice::test
