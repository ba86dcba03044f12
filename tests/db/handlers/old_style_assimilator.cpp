// SPDX-License-Identifier: LGPL-3.0-or-later
// An assimilator as projects have written them for upstream, with faults: the name of the workunit says which.
#include <cstdlib>
#include <string>

#include "assimilate_handler.h"
#include "boinc_db.h"
#include "config.h"
#include "error_numbers.h"
#include "filesys.h"
#include "sched_config.h"
#include "sched_msgs.h"
#include "sched_util.h"
#include "validate_util.h"

int assimilate_handler_init(int argc, char**) { return argc > 1 ? ERR_INVALID_PARAM : 0; }
void assimilate_handler_usage() {}

int assimilate_handler(WORKUNIT& wu, std::vector<RESULT>& results, RESULT& canonical) {
    const std::string name = wu.name;
    if (name == "crash") abort();
    if (name == "defer") return DEFER_ASSIMILATION;
    if (name == "error") return ERR_FOPEN;
    boinc_mkdir(config.project_path("kept"));
    if (!wu.canonical_resultid) {
        log_messages.printf(MSG_NORMAL, "[WU#%lu %s] failed: 0x%x\n", wu.id, wu.name, wu.error_mask);
        return 0;
    }
    log_messages.printf(MSG_NORMAL, "[WU#%lu %s] %d results, canonical %lu, %d, %.0f s\n", wu.id, wu.name,
                        static_cast<int>(results.size()), canonical.id, canonical.exit_status, canonical.elapsed_time);
    std::string path, logical;
    if (int retval = get_output_file_path(canonical, path)) return retval;
    if (int retval = get_logical_name(canonical, path, logical)) return retval;
    return boinc_copy(path.c_str(), config.project_path("kept/%s_%s", wu.name, logical.c_str()));
}
