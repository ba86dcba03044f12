// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <string>
#include <vector>

#include "sluice/model/codes.h"

namespace sluice::test {

inline constexpr const char* kPlatform = "x86_64-pc-linux-gnu";
inline constexpr const char* kKey = "0123456789abcdef0123456789abcdef";

/// The text of a request, built from the pieces that tests vary.
struct RequestText {
    std::string authenticator = kKey;
    Id hostid = 0;
    int seqno = 0;
    std::string platform = kPlatform, client_version = "8.0.2";
    double work_seconds = 0;            ///< CPU seconds wanted
    std::vector<std::string> reported;  ///< names; success
    std::vector<std::string> others;    ///< names of jobs on the host
    bool list_others = true;
    bool host_info = true;
    int ncpus = 4;
    std::string domain_name = "box", cpid = "cpid-of-box";
    std::string more;  ///< any further elements
    std::string text() const;
};

/// A known host that wants work.
inline RequestText asking(Id host, double seconds) {
    RequestText r;
    r.hostid = host;
    r.work_seconds = seconds;
    return r;
}

}  // namespace sluice::test
