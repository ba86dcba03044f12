// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Decisions of upstream's programs on cases, as text in a file of the repository: facts, with the seeds that make the
// cases again. Texts of messages stand at the head and are numbered.
#include <filesystem>
#include <map>
#include <string>

#include "tests/unit/upstream/case_replay.h"

namespace sluice::test {

/// By world (its seed) and request. Requests that can't be compared are left out.
using CaseRecords = std::map<std::uint64_t, std::map<int, CaseDecision>>;

void write_case_records(const std::filesystem::path& file, const CaseRecords& records);
/// Throws std::runtime_error if a line is not as it should be.
CaseRecords read_case_records(const std::filesystem::path& file);

/// What differs, as text; empty: nothing that has no row in docs/compat.md.
std::string difference(const CaseDecision& ours, const CaseDecision& upstream);

}  // namespace sluice::test
