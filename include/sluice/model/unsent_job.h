// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include "sluice/model/records.h"

namespace sluice {

/// A result and its workunit, for the job array and for those who choose beside it; of the result: id, name, priority,
/// report_deadline, server_state, create_time.
struct UnsentJob {
    Result result;
    Workunit workunit;
    bool result_is_whole = true;  ///< is_whole() of the result's xml_doc_in, which stays in the database
};

}  // namespace sluice
