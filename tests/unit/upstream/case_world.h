// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Made-up projects with requests, for the comparison with upstream's programs: the same for the same seed. Every host
// makes one request, so that a request depends on those before it only by the jobs that they got.
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "tests/support/fake_db.h"

namespace sluice::test {

struct CaseWorld {
    FakeDb rows;          ///< nothing of it is upstream's text
    std::string options;  ///< elements of <config>, without folders, URLs and database
    std::unordered_map<Id, std::vector<double>> quantiles;  ///< what the files size_census_APP hold
    std::vector<std::string> requests;                      ///< of host 1, 2, …
};
/// Times in the rows are relative to `now`.
CaseWorld make_case_world(std::uint64_t seed, std::int64_t now);

inline constexpr int kRequestsOfAWorld = 30, kSlotsOfAWorld = 200;

}  // namespace sluice::test
