// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include "sched/match/candidate.h"

namespace sluice::match {

/// Fills local_files, local_bytes and input_bytes: the job's sticky input files against those on the host.
void find_local_files(const HostFacts& host, const JobPool& pool, Candidate& candidate);

}  // namespace sluice::match
