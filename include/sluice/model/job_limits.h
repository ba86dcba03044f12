#pragma once

namespace sluice {

/// A limit on jobs in progress.
struct JobLimit {
    int jobs = 0;           ///< 0 = no limit
    bool per_proc = false;  ///< times the number of CPUs, or of GPUs of the type; without effect on `total`
    friend bool operator==(const JobLimit&, const JobLimit&) = default;
};
struct JobLimits {
    JobLimit total, cpu;
    JobLimit gpu;  ///< of each GPU type by itself
    friend bool operator==(const JobLimits&, const JobLimits&) = default;
};

}  // namespace sluice
