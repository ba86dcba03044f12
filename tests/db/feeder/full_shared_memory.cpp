// SPDX-License-Identifier: LGPL-3.0-or-later
// Preloaded into a feeder: while the file named by SLUICE_TEST_SHM_FULL exists, /dev/shm is full.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

extern "C" int posix_fallocate(int fd, off_t offset, off_t bytes) {
    const char* full = std::getenv("SLUICE_TEST_SHM_FULL");
    if (full != nullptr && ::access(full, F_OK) == 0) return ENOSPC;
    return ::fallocate(fd, 0, offset, bytes) == 0 ? 0 : errno;
}
