// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/cgi/test_points.h"

#ifdef SLUICE_TEST_POINTS
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#endif

namespace sluice {

#ifndef SLUICE_TEST_POINTS
std::function<void(const char* point)> test_hook() { return {}; }
#else
namespace {

void pause_at(const std::string& file) {
    const int fd = ::open(file.c_str(), O_CREAT | O_WRONLY, 0666);
    if (fd >= 0) ::close(fd);
    while (::access(file.c_str(), F_OK) == 0) ::usleep(2000);
}

}  // namespace

std::function<void(const char* point)> test_hook() {
    return [](const char* point) {
        if (const char* kill_at = std::getenv("SLUICE_KILL_AT"); kill_at != nullptr && std::string(kill_at) == point)
            ::kill(::getpid(), SIGKILL);
        const char* pause = std::getenv("SLUICE_PAUSE_AT");
        if (pause == nullptr) return;
        const std::string text = pause;
        const std::size_t colon = text.find(':');
        if (text.substr(0, colon) == point) pause_at(text.substr(colon + 1));
    };
}
#endif

}  // namespace sluice
