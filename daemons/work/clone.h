// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A new workunit after the pattern of another one.
#include <string>

#include "sluice/model/job.h"

namespace sluice {

struct CloneWords {
    std::string name;         ///< of the new workunit
    std::string file_suffix;  ///< added to names of input files: hosts fetch them anew
    bool keep_credit = false;
    std::int64_t now = 0;
};

/// Nothing of what became of `pattern` goes over. File names get the suffix, in <file_info> and <file_ref>; URLs, from
/// which clients fetch them, stay. As upstream's make_work does with the first file; others with <no_delete/> keep
/// their name, since hosts are meant to keep them.
Workunit clone_of(const Workunit& pattern, const CloneWords& words);

}  // namespace sluice
