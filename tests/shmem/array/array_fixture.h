// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A job array of a test's own: project folder and segment name that nobody else uses, both gone at the end.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "sluice/shmem/feeder_array.h"
#include "sluice/shmem/scheduler_array.h"
#include "tests/shmem/array/whole_jobs.h"
#include "tests/support/segment_files.h"

namespace sluice::test {

class ArrayTest : public ::testing::Test {
  protected:
    ArrayTest() {
        std::string pattern = (std::filesystem::temp_directory_path() / "sluice_array_XXXXXX").string();
        project_ = ::mkdtemp(pattern.data());
        name_ = job_array_name(0x1111abcd, project_);
    }
    ~ArrayTest() override {
        remove_segment_files(name_);
        std::filesystem::remove_all(project_);
    }
    std::unique_ptr<FeederArray> create(std::uint32_t slots, std::function<void(const char*)> hook = {}) const {
        JobArraySettings settings;
        settings.slots = slots;
        settings.test_hook = std::move(hook);
        return FeederArray::create(name_, settings);
    }
    std::vector<std::filesystem::path> leftovers() const { return segment_files(name_); }

    std::filesystem::path project_;
    JobArrayName name_;
};

/// Runs `body` in a child process; its exit status is what body returns (99 after an exception).
inline pid_t in_child(const std::function<int()>& body) {
    const pid_t pid = ::fork();
    if (pid != 0) return pid;
    int status = 99;
    try {
        status = body();
    } catch (const std::exception& e) {
        std::fprintf(stderr, "child: %s\n", e.what());
    }
    ::_exit(status);
}
/// Exit status, or -signal.
inline int wait_for(pid_t pid) {
    int status = 0;
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace sluice::test
