// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A request and the resident scheduler, as far as that can be done before the C library is set up.
#include <cstddef>

namespace sluice::relay {

/// Of a body so much is kept, to be given to a scheduler of our own if the resident one refuses the request.
inline constexpr std::size_t kKept = 256 * 1024;

enum class Came : int {
    kNotTried,  ///< nobody was asked
    kNobody,    ///< nobody takes this request; nothing was read
    kRefused,   ///< the whole body may have been read, and nothing was done
    kLost       ///< no reply came, and it may have been done
};

/// What became of the request. Where its reply stands on standard output, all of it or its beginning, the process has
/// ended.
struct RelayedRequest {
    Came came;
    int error;         ///< of kNobody: an errno. ENOENT: there is no socket. EPERM: a stranger listens. ECONNRESET: it
                       ///< closed the connection. EPROTO: of another version. ETIMEDOUT: it says nothing.
    long taken;        ///< bytes of the body that were read
    bool ended;        ///< of the body nothing more comes
    bool broke_off;    ///< it ended before all came that the web server was told of
    char body[kKept];  ///< the beginning
};
extern RelayedRequest relayed_request;

/// To be called by main() where the program did not begin with it; argument and environment as main() has them.
void relay_request(int argc, char** environment);

}  // namespace sluice::relay
