#pragma once
// Where the matcher gets jobs from. The shared array implements it in sched/handle; tests and sched_explain have
// their own. Indices are slots; `generation` tells one content of a slot from the next.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sluice/model/job_summary.h"
#include "sluice/model/workunit_facts.h"

namespace sluice {

struct PoolRef {
    std::uint32_t index = 0;
    std::uint32_t infeasible_count = 0;  ///< as read: found committed elsewhere (seed 003's "previously infeasible")
    std::uint64_t generation = 0;
};

enum class PoolSlot { kEmpty, kPresent, kLocked };

class JobPool {
  public:
    virtual ~JobPool() = default;
    virtual std::uint32_t size() const = 0;
    virtual PoolSlot read(std::uint32_t index, JobSummary& job, PoolRef& ref) const = 0;
    /// True: this process holds the slot until release() or the end of the RPC. False: lost.
    virtual bool claim(const PoolRef& ref) = 0;
    virtual void release(const PoolRef& ref) = 0;
    /// Of a claimed slot: no host may ever have this job (cancelled, already done, gone). Empties the slot, so that the
    /// feeder refills it. A pool that must not change (dry runs) only releases.
    virtual void discard(const PoolRef& ref) { release(ref); }
    /// The workunit's XML, for what the hot fields can't answer (BUDA name, more keywords or input files).
    virtual std::optional<std::string> workunit_xml(const PoolRef& ref) const = 0;
    /// workunit.keywords, asked only for jobs with more keywords than JobSummary holds.
    virtual std::string keywords(const PoolRef&) const { return {}; }
    /// The database says that the workunit is committed to another HR class or app version: raises infeasible_count.
    virtual void note_infeasible(const PoolRef&) {}
    /// This host, limits apart, can't take the PRESENT job it read: for rotation and the starvation report. A sample:
    /// at most Matcher::kMaxPassedOverNotes a scan, and what fails a slow check.
    virtual void note_passed_over(const PoolRef&) {}
};

/// Loads the facts of a whole shortlist in one statement; same order as `jobs`. Matcher::match() calls it mostly
/// once, and at most Matcher::kMaxLoads times; match_non_cpu_intensive() at most once.
class FactsSource {
  public:
    virtual ~FactsSource() = default;
    virtual std::vector<WorkunitFacts> load(std::span<const JobSummary> jobs) = 0;
};

}  // namespace sluice
