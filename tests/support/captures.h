#pragma once
// The captured requests and replies of tests/captures.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace sluice::test {

inline std::filesystem::path captures_dir() {
    return std::filesystem::path(SLUICE_SOURCE_DIR) / "tests" / "captures";
}

/// capture("01_client_attach_first_contact.request"): the file's bytes. A missing file is a test failure.
inline std::string capture(const std::string& name) {
    std::ifstream in(captures_dir() / (name + ".xml"), std::ios::binary);
    if (!in) ADD_FAILURE() << "no capture " << name;
    std::ostringstream out;
    out << in.rdbuf();
    return out.str();
}

/// Names of all captures that end in `kind` ("request" or "reply"), as capture() takes them, sorted.
inline std::vector<std::string> capture_names(const std::string& kind) {
    std::vector<std::string> out;
    for (const auto& entry : std::filesystem::directory_iterator(captures_dir())) {
        const std::string stem = entry.path().stem().string();
        if (stem.ends_with("." + kind)) out.push_back(stem);
    }
    std::sort(out.begin(), out.end());
    return out;
}

}  // namespace sluice::test
