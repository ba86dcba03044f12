// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Where the matcher gets jobs from. The shared array implements it in sched/handle; tests and sched_explain have
// their own.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sluice/match/verdict.h"
#include "sluice/model/job_summary.h"

namespace sluice {

class JobPool {
  public:
    virtual ~JobPool() = default;
    virtual std::uint32_t size() const = 0;
    /// So many of these, the last ones, are there for this request alone: every scan looks at them, and first.
    virtual std::uint32_t extra() const { return 0; }
    virtual SlotState read(std::uint32_t index, JobSummary& job, SlotRef& ref) const = 0;
    /// True: this process holds the slot until release() or the end of the RPC. False: lost.
    virtual bool claim(const SlotRef& ref) = 0;
    virtual void release(const SlotRef& ref) = 0;
    /// Of a claimed slot: no host may ever have this job (cancelled, already done, gone). Empties the slot, so that the
    /// feeder refills it. A pool that must not change (dry runs) only releases.
    virtual void discard(const SlotRef& ref) { release(ref); }
    /// The workunit's XML, for what the hot fields can't answer (BUDA name, more keywords or input files).
    virtual std::optional<std::string> workunit_xml(const SlotRef& ref) const = 0;
    /// workunit.keywords, asked only for jobs with more keywords than JobSummary holds.
    virtual std::string keywords(const SlotRef&) const { return {}; }
    /// The database says that the workunit is committed to another HR class or app version: raises infeasible_count.
    virtual void note_infeasible(const SlotRef&) {}
    /// This host, limits apart, can't take the PRESENT job it read: for rotation and the starvation report. A sample:
    /// at most Matcher::kMaxPassedOverNotes a scan, and what fails a slow check.
    virtual void note_passed_over(const SlotRef&) {}
};

struct Chosen;

/// What the array does not know of jobs.
class FactsSource {
  public:
    virtual ~FactsSource() = default;
    /// Loads the facts of a whole shortlist in one statement; same order as `jobs`. Matcher::match() calls it mostly
    /// once, and at most Matcher::kMaxLoads times; match_non_cpu_intensive() at most once.
    virtual std::vector<WorkunitFacts> load(std::span<const JobSummary> jobs) = 0;
    /// Can a reply carry this job, which is claimed? Asked last.
    virtual Verdict can_be_written(const Chosen&) { return feasible(); }
};

}  // namespace sluice
