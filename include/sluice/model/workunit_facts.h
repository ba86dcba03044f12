// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <string>

#include "sluice/model/codes.h"

namespace sluice {

/// What the database says now of a job that is about to be sent: slow checks are pure functions of this.
struct WorkunitFacts {
    Id result_id = 0, workunit_id = 0;
    bool found = false;  ///< result and workunit exist
    ServerState server_state = ServerState::kUnsent;
    int error_mask = 0;
    Id canonical_resultid = 0;
    int hr_class = 0;
    Id app_version_id = 0;  ///< homogeneous app version commitment
    int transitioner_flags = 0;
    std::int64_t transition_time = 0;
    int results_of_user = 0, results_of_host = 0;  ///< other instances of this workunit with this user / on this host
    // what dispatch needs to write the reply
    std::string result_name, result_xml_doc_in;
};

}  // namespace sluice
