// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The types of FastCGI's records, for both ends. Nothing here needs the C library: bare_relay.cpp begins before it.
#include <cstdint>

namespace sluice::fastcgi {

enum RecordType : std::uint8_t {
    kBeginRequest = 1,
    kEndRequest = 3,
    kParams = 4,
    kStdin = 5,
    kStdout = 6,
    kGetValues = 9,
    kGetValuesResult = 10
};

}  // namespace sluice::fastcgi
