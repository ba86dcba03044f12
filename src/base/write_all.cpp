// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/base/write_all.h"

#include <unistd.h>

#include <cerrno>

namespace sluice {

bool write_all(int fd, std::string_view bytes) noexcept {
    while (!bytes.empty()) {
        const ssize_t n = ::write(fd, bytes.data(), bytes.size());
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
}

}  // namespace sluice
