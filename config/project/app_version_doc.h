// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "config/project/app_version_source.h"

namespace sluice {

/// What the client must know of a file beside its names.
struct FileFacts {
    std::string signature;  ///< hex text, 4 lines and "."
    std::uintmax_t nbytes = 0;
    std::uintmax_t gzipped_nbytes = 0;  ///< 0: not compressed
};

/// The xml_doc of an app_version row: a <file_info> a file, then <app_version>. `facts` has the files' order.
std::string app_version_doc(const VersionFolder& folder, const VersionSpec& spec, const std::vector<FileFacts>& facts,
                            const std::string& download_url);

}  // namespace sluice
