// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Rows of a small project, alike in databases real and fake.
#include <string>

#include "sluice/model/job.h"
#include "sluice/model/job_summary.h"
#include "sluice/model/user.h"
#include "tests/support/fake_db.h"

namespace sluice::test {

/// Platforms, the app "up" (1) with version 100 (1) for x86_64 Linux, the user alice (1).
FakeDb small_project();
User a_user(Id id, const std::string& name, const std::string& key);
/// Named wu_ID, 10 s of work for a host of 1 GFLOPS, a week's deadline.
Workunit a_workunit(Id id, std::int64_t now);
Result a_result(Id id, const Workunit& workunit, int instance);
JobSummary summary_of_rows(const Workunit& workunit, const Result& result);
inline constexpr const char* kOutputTemplate =
    "<file_info>\n<name><OUTFILE_0/></name>\n<generated_locally/>\n<max_nbytes>1000</max_nbytes>\n"
    "<url><UPLOAD_URL/></url>\n</file_info>\n<result>\n<file_ref>\n<file_name><OUTFILE_0/></file_name>\n"
    "<open_name>out</open_name>\n</file_ref>\n</result>\n";

}  // namespace sluice::test
