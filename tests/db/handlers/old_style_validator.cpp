// SPDX-License-Identifier: LGPL-3.0-or-later
// A validator as projects have written them for upstream, with the older init_result(), and with faults: the text of an
// output file says which.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "boinc_db.h"
#include "config.h"
#include "error_numbers.h"
#include "filesys.h"
#include "parse.h"
#include "sched_msgs.h"
#include "sched_util.h"
#include "str_util.h"
#include "util.h"
#include "validate_util.h"
#include "validate_util2.h"
#include "validator.h"

using std::string;

static double tolerance = 0.5;

int validate_handler_init(int argc, char** argv) {
    for (int i = 1; i < argc; i++)
        if (is_arg(argv[i], "tolerance"))
            tolerance = atof(argv[++i]);
        else
            return ERR_INVALID_PARAM;
    return 0;
}

void validate_handler_usage() { printf("    [--tolerance X]  how far apart two numbers may be\n"); }

int init_result(RESULT& result, void*& data) {
    string path, text;
    int retval = get_output_file_path(result, path);
    if (retval) return retval;
    FILE* f;
    retval = try_fopen(path.c_str(), f, "r");
    if (retval) return retval;
    fclose(f);
    retval = read_file_string(path.c_str(), text);
    if (retval) return retval;
    log_messages.printf(MSG_NORMAL, "[RESULT#%lu %s] of [WU#%lu] says %s\n", result.id, result.name, g_wup->id,
                        text.c_str());
    if (text == "crash") abort();
    if (text == "9" && (boinc_db.start_transaction() || boinc_db.do_query("INSERT INTO own VALUES (1, 1)") ||
                        boinc_db.commit_transaction()))
        return ERR_NULL;
    if (text == "8") log_messages.printf(MSG_NORMAL, "at %s\n", precision_time_to_string(1000000000.25));
    if (text == "leaves") {
        if (system("sleep 20 >/dev/null 2>&1 &") != 0) return ERR_FORK;
        abort();
    }
    if (text == "exit") exit(0);
    if (text == "hang")
        for (;;) pause();
    if (text == "allocate")
        for (std::vector<char*> all;;) all.push_back(new char[64 << 20]);
    rlimit core{};
    if (text == "limits" && getrlimit(RLIMIT_CORE, &core) == 0)
        log_messages.printf(MSG_NORMAL, "files of crashes: %llu bytes\n",
                            static_cast<unsigned long long>(core.rlim_max));
    if (text == "later") return VAL_RESULT_TRANSIENT_ERROR;
    if (text == "bad") return ERR_BAD_FORMAT;
    result.runtime_outlier = text == "7";
    result.claimed_credit = text == "8" ? -8 : 40 + atof(text.c_str());
    data = new double(atof(text.c_str()));
    return 0;
}

int compare_results(RESULT&, void* a, RESULT const&, void* b, bool& match) {
    const double x = *static_cast<double*>(a), y = *static_cast<double*>(b);
    if (x == 13 && y == 13) abort();
    if (x < 0 || y < 0) return VAL_RESULT_TRANSIENT_ERROR;
    match = std::abs(x - y) <= tolerance;
    return 0;
}

int cleanup_result(RESULT const&, void* data) {
    delete static_cast<double*>(data);
    return 0;
}
