// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The files of a job array in /dev/shm, for tests that look at them from outside.
#include <filesystem>
#include <string>
#include <vector>

#include "sluice/shmem/job_array.h"

namespace sluice::test {

/// Every file of this project and key, whoever made it.
inline std::vector<std::filesystem::path> segment_files(const JobArrayName& name) {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator("/dev/shm"))
        if (entry.path().filename().string().starts_with(name.prefix)) files.push_back(entry.path());
    return files;
}

/// The file that only the feeder writes; empty: there is none.
inline std::filesystem::path content_file(const JobArrayName& name) {
    for (const auto& file : segment_files(name))
        if (file.extension() != ".claims") return file;
    return {};
}

inline void remove_segment_files(const JobArrayName& name) {
    for (const auto& file : segment_files(name)) std::filesystem::remove(file);
}

}  // namespace sluice::test
