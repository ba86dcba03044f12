// SPDX-License-Identifier: LGPL-3.0-or-later
// Preloaded into bin/start: writes how many links of /proc it read into the file that SLUICE_TEST_COUNT names.
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

struct Count {
    int links = 0;
    ~Count() {
        const char* file = std::getenv("SLUICE_TEST_COUNT");
        std::FILE* out = file != nullptr ? std::fopen(file, "w") : nullptr;
        if (out == nullptr) return;
        std::fprintf(out, "%d", links);
        std::fclose(out);
    }
};
Count count;

}  // namespace

extern "C" ssize_t readlink(const char* path, char* target, size_t size) {
    if (std::strncmp(path, "/proc/", 6) == 0 && path[6] >= '0' && path[6] <= '9') ++count.links;
    return ::syscall(SYS_readlinkat, AT_FDCWD, path, target, size);
}
