// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <vector>

#include "sluice/match/job_pool.h"

namespace sluice::test {

/// As dense as shared memory: one JobSummary after another.
class DensePool final : public JobPool {
  public:
    std::vector<JobSummary> jobs;
    std::uint32_t size() const override { return static_cast<std::uint32_t>(jobs.size()); }
    SlotState read(std::uint32_t i, JobSummary& job, SlotRef& ref) const override {
        job = jobs[i];
        ref = {i, 0, 1};
        return SlotState::kPresent;
    }
    bool claim(const SlotRef&) override { return true; }
    void release(const SlotRef&) override {}
    std::optional<std::string> workunit_xml(const SlotRef&) const override { return std::nullopt; }
};

}  // namespace sluice::test
