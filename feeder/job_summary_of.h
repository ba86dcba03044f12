#pragma once
// A row of the database as the array holds it.
#include "sluice/db/feeder_store.h"
#include "sluice/model/job_summary.h"
#include "sluice/shmem/job_array.h"

namespace sluice {

/// `reliable_on_priority` as in config.xml (0 = off).
JobSummary job_summary_of(const UnsentJob& job, int reliable_on_priority, std::int64_t now);
SlotDoc slot_doc_of(const UnsentJob& job);

}  // namespace sluice
