// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <fmt/core.h>
#include <sys/types.h>

#include <fstream>
#include <string>

namespace sluice::test {

/// The most physical memory that a process had at a time (VmHWM), bytes; 0: it is gone.
inline std::size_t peak_memory(pid_t pid) {
    std::ifstream in(fmt::format("/proc/{}/status", pid));
    for (std::string word; in >> word;)
        if (word == "VmHWM:") {
            std::size_t kilobytes = 0;
            in >> kilobytes;
            return kilobytes * 1024;
        }
    return 0;
}

}  // namespace sluice::test
