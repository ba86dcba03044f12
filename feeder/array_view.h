// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The job array as people look at it: a dump, a table by app, size class, HR class and age, or JSON. Never claims.
#include <cstdint>
#include <string>
#include <vector>

#include "sluice/shmem/job_array.h"

namespace sluice {

struct SlotView {
    std::uint32_t slot = 0;
    SlotState state = SlotState::kEmpty;
    JobSummary job;   ///< while PRESENT
    ProcessId owner;  ///< while claimed; pid 0: not known
    std::uint32_t infeasible = 0, passed_over = 0;
};

struct ArrayView {
    std::string segment;
    JobArrayStats stats;
    bool current = false, feeder_alive = false;
    std::shared_ptr<const ProjectTables> tables;
    std::vector<SlotView> slots;
    std::int64_t now = 0;
    std::vector<std::string> triggers;  ///< stop_sched and the like, a line each
};

ArrayView look_at_array(const JobArray& array, std::int64_t now);
std::string dump_text(const ArrayView& view);
/// One line for each app x size class x HR class, with the number of jobs by age.
std::string shape_text(const ArrayView& view);
std::string array_json(const ArrayView& view);

}  // namespace sluice
