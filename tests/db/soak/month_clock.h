// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The test's hand on the moved clock (moved_clock.h): all programs that are started while it lives have it.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include "tests/db/soak/moved_clock.h"
#include "tests/support/paths.h"

namespace sluice::test {

/// For waits, as no clock moves them.
inline double real_seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

class MovedClock {
  public:
    /// Makes the file.
    explicit MovedClock(const std::filesystem::path& file) : file_(file.string()) {
        std::ofstream(file).flush();
        std::filesystem::resize_file(file, sizeof(ClockSteps));
        const int fd = ::open(file.c_str(), O_RDWR | O_CLOEXEC);
        void* at = ::mmap(nullptr, sizeof(ClockSteps), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        ::close(fd);
        if (at == MAP_FAILED) throw std::runtime_error("can't map " + file_);
        steps_ = static_cast<ClockSteps*>(at);
        steps_->count.store(1, std::memory_order_release);
        ::setenv(kMovedClockFile, file.c_str(), 1);
        ::setenv("LD_PRELOAD", (binary_dir() + "/tests/moved_clock.so").c_str(), 1);
    }
    MovedClock(const MovedClock&) = delete;
    MovedClock& operator=(const MovedClock&) = delete;
    ~MovedClock() {
        ::unsetenv("LD_PRELOAD"), ::unsetenv(kMovedClockFile);
        ::munmap(steps_, sizeof(ClockSteps));
    }

    void advance(double seconds) {
        const std::uint64_t n = steps_->count.load(std::memory_order_relaxed);
        if (n >= ClockSteps::kMost) throw std::runtime_error("the clock has been moved too often");
        steps_->steps[n] = {real(), steps_->steps[n - 1].ahead + static_cast<std::int64_t>(seconds * 1e9)};
        steps_->count.store(n + 1, std::memory_order_release);
    }
    double now() const {
        const std::uint64_t n = steps_->count.load(std::memory_order_relaxed);
        return static_cast<double>(real() + steps_->steps[n - 1].ahead) / 1e9;
    }
    /// In the environment of a program that has this clock.
    std::string mark() const { return std::string(kMovedClockFile) + "=" + file_; }

  private:
    static std::int64_t real() {
        return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
            .count();
    }
    std::string file_;
    ClockSteps* steps_ = nullptr;
};

}  // namespace sluice::test
