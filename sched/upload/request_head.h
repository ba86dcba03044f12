// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What a client asks of the upload handler: how much of a file is here, or to take (the rest of) a file. Line-oriented,
// as upstream: each element on a line of its own, the data behind the line <data>.
#include <optional>
#include <string>

#include "sched/upload/body_reader.h"

namespace sluice::upload {

/// No file is larger; above it a double does not tell whole numbers apart.
inline constexpr double kMaxFileSize = 9007199254740992.0;

struct RequestHead {
    enum class Kind { kNone, kGetFileSize, kUpload };
    Kind kind = Kind::kNone;
    std::string name;
    int core_major = 0, core_minor = 0, core_release = 0;
    // kUpload
    std::string signature;  ///< hex text of <xml_signature>
    bool has_signature = false;
    std::optional<double> max_nbytes, nbytes;  ///< nullopt: not given, or not a finite number
    double offset = 0;
    bool offset_ok = true;  ///< false: given, but not a whole number >= 0
    bool has_data = false;  ///< the line <data> was reached: raw bytes follow
};

/// Reads up to and including the line <data>, to the end of the request element, or until 64 KiB of lines were read.
RequestHead read_request_head(BodyReader& body);

}  // namespace sluice::upload
