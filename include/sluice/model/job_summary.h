// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The hot fields of a sendable job: what a scan of the job array reads. Trivially copyable, at most 200 bytes, so
// that a thousand of them cost microseconds (ARCHITECTURE §7.7: 1000 hot slots 8 us, with XML inline 9 ms).
#include <array>
#include <cstdint>
#include <string>
#include <type_traits>

#include "sluice/model/codes.h"

namespace sluice {

/// A sticky input file of a job, for locality scheduling: hash instead of name.
struct InputFileHint {
    std::uint32_t name_hash = 0;  ///< file_name_hash(); 0 = none
    float nbytes = 0;
};

struct JobSummary {
    Id result_id = 0, workunit_id = 0;
    std::int32_t app_id = 0;
    std::int32_t batch = 0;
    double rsc_fpops_est = 0, rsc_fpops_bound = 0, rsc_memory_bound = 0, rsc_disk_bound = 0, rsc_bandwidth_bound = 0;
    std::int32_t delay_bound = 0;      ///< s
    std::int32_t report_deadline = 0;  ///< nonzero only for results that had one
    std::int32_t priority = 0;         ///< result.priority
    std::int32_t wu_priority = 0;      ///< workunit.priority (> 0: accelerated, seed 004)
    std::int32_t hr_class = 0;         ///< 0: not committed
    std::int32_t app_version_id = 0;   ///< homogeneous app version: 0 = not committed
    std::int32_t app_version_num = 0;  ///< pinned version number, 0 = any
    std::int32_t time_added = 0;       ///< when the feeder put it here
    std::int32_t create_time = 0;      ///< of the result
    std::int16_t size_class = -1;
    std::int16_t target_nresults = 0;
    std::uint8_t need_reliable = 0;   ///< priority >= reliable_on_priority
    std::uint8_t is_buda = 0;         ///< the XML names a <buda_app_name>
    std::uint8_t n_keywords = 0;      ///< more than fit: the rest is in SlotDoc
    std::uint8_t n_input_files = 0;   ///< sticky input files, likewise
    std::uint32_t buda_app_hash = 0;  ///< file_name_hash() of <buda_app_name>; 0 with is_buda: ask the XML
    std::array<std::int32_t, 6> keywords{};
    std::array<InputFileHint, 4> input_files{};
};
static_assert(std::is_trivially_copyable_v<JobSummary> && sizeof(JobSummary) <= 200);

/// FNV-1a, 32 bit, never 0.
constexpr std::uint32_t file_name_hash(const char* s, std::size_t n) {
    std::uint32_t h = 2166136261u;
    for (std::size_t i = 0; i < n; ++i) h = (h ^ static_cast<unsigned char>(s[i])) * 16777619u;
    return h == 0 ? 1 : h;
}

// A slot of the job array as somebody has seen it.

/// Which content of a slot is meant: the index, and what was seen with it.
struct SlotRef {
    std::uint32_t index = 0;
    std::uint32_t infeasible_count = 0;  ///< found committed elsewhere so often (seed 003's "previously infeasible")
    std::uint64_t word = 0;              ///< of its state: tells one content from the next
};

/// kClaimed: somebody holds it, or it is being written.
enum class SlotState { kEmpty, kPresent, kClaimed };

/// What the database says now of a job that is about to be sent: slow checks are pure functions of this.
struct WorkunitFacts {
    Id result_id = 0, workunit_id = 0;
    bool found = false;  ///< result and workunit exist
    ServerState server_state = ServerState::kUnsent;
    int error_mask = 0;
    Id canonical_resultid = 0;
    int hr_class = 0;
    Id app_version_id = 0;  ///< homogeneous app version commitment
    int transitioner_flags = 0;
    std::int64_t transition_time = 0;
    int results_of_user = 0, results_of_host = 0;  ///< other instances of this workunit with this user / on this host
    // what dispatch needs to write the reply
    std::string result_name, result_xml_doc_in;
};

}  // namespace sluice
