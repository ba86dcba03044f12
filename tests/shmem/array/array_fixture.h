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

/// Every field follows from the id, so that a mixture of two jobs shows.
inline JobSummary job_of(Id id) {
    JobSummary job;
    job.result_id = id;
    job.workunit_id = id * 7;
    job.app_id = static_cast<std::int32_t>(id % 97);
    job.batch = static_cast<std::int32_t>(id % 1009);
    job.rsc_fpops_est = static_cast<double>(id) * 3;
    job.rsc_fpops_bound = static_cast<double>(id) * 5;
    job.rsc_memory_bound = static_cast<double>(id) * 11;
    job.rsc_disk_bound = static_cast<double>(id) * 13;
    job.delay_bound = static_cast<std::int32_t>(id % 100003);
    job.priority = static_cast<std::int32_t>(id % 31);
    job.keywords.fill(static_cast<std::int32_t>(id % 65537));
    job.input_files.fill({static_cast<std::uint32_t>(id), static_cast<float>(id % 4096)});
    return job;
}
inline bool is_whole(const JobSummary& job) {
    const JobSummary right = job_of(job.result_id);
    return job.workunit_id == right.workunit_id && job.app_id == right.app_id && job.batch == right.batch &&
           job.rsc_fpops_est == right.rsc_fpops_est && job.rsc_fpops_bound == right.rsc_fpops_bound &&
           job.rsc_memory_bound == right.rsc_memory_bound && job.rsc_disk_bound == right.rsc_disk_bound &&
           job.delay_bound == right.delay_bound && job.priority == right.priority && job.keywords == right.keywords &&
           job.input_files[0].name_hash == right.input_files[0].name_hash &&
           job.input_files[3].nbytes == right.input_files[3].nbytes;
}
inline SlotDoc doc_of(Id id, std::size_t bytes = 0) {
    const std::string text = std::to_string(id);
    std::string xml = "<workunit>" + text;
    const std::size_t wanted = bytes == 0 ? 100 + static_cast<std::size_t>(id * 37 % 900) : bytes;
    while (xml.size() < wanted) xml += " " + text;
    return {"wu_" + text, xml, text, "wu_" + text + "_0"};
}
inline bool is_whole(const SlotDoc& doc, Id id, std::size_t bytes = 0) {
    const SlotDoc right = doc_of(id, bytes);
    return doc.wu_name == right.wu_name && doc.wu_xml == right.wu_xml && doc.keywords == right.keywords &&
           doc.result_name == right.result_name;
}

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
