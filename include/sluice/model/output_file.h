// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <filesystem>
#include <string>

namespace sluice {

/// What a result has uploaded, as its <file_ref> says.
struct OutputFile {
    std::string name;     ///< physical name
    std::string logical;  ///< open_name
    bool optional = false, no_validate = false;
    std::filesystem::path path;  ///< in the upload folder
};

}  // namespace sluice
