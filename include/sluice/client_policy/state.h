// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What a BOINC client knows when it decides what to run and what to ask for (seed 001). Numbers instead of names: a job
// names its project and its processor type by their places in the lists.
#include <cstddef>
#include <vector>

namespace sluice::client {

/// Which rules hold where the real client does otherwise than the seed (docs/seeds_client.md lists each place).
enum class Rules {
    kClient,  ///< as boinc-client 7.20 does
    kSeed,    ///< as the seed says
};

struct ProcessorType {
    bool is_cpu = false;   ///< at most one type is
    double instances = 1;  ///< how many the client may use, more than 0
    double speed = 1;      ///< of one instance, in CPUs: by it REC counts
};

struct Project {
    double resource_share = 100;
    double rec = 0;         ///< recent estimated credit; only the ratio to other projects' matters
    bool fetchable = true;  ///< may be asked for work at all
    /// For each type: not asked for this type of work before then (clock of `now`); 0: not backed off.
    std::vector<double> backoff_until;
};

struct Job {
    std::size_t project = 0;
    std::size_t type = 0;
    double instances = 1;  ///< of `type`; may be a fraction
    double cpus = 0;       ///< CPUs beside them, of a job whose type is not the CPU
    double remaining = 0;  ///< seconds of run time that are left
    double deadline = 0;   ///< clock of `now`
    bool started = false;

    // What a simulated client also knows of its jobs; the defaults leave out the rules that need it.
    bool running = false;
    double running_since = 0;  ///< start of its current time slice (clock of `now`), of a running job
    double checkpointed = 0;   ///< its last checkpoint (clock of `now`); 0: none yet
    double memory = 0;         ///< bytes of its working set; of a job that has not started, its bound
};

struct State {
    double now = 0;
    double work_buf_min = 0;         ///< seconds
    double work_buf_additional = 0;  ///< seconds
    double on_frac = 1;              ///< part of the time in which the client computes, more than 0, at most 1
    Rules rules = Rules::kClient;
    double time_slice = 3600;      ///< seconds that a job runs before others may have its turn
    double memory = 0;             ///< bytes that jobs may use together; 0: no limit
    bool leave_in_memory = false;  ///< the volunteer's wish for jobs that are pre-empted
    std::vector<ProcessorType> types;
    std::vector<Project> projects;
    std::vector<Job> jobs;  ///< in the order of their arrival

    /// Seconds that the buffer holds when it is full.
    double max_buffer() const { return work_buf_min + work_buf_additional; }
};

}  // namespace sluice::client
