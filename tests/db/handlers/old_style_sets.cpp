// SPDX-License-Identifier: LGPL-3.0-or-later
// A validator as older projects have written them for upstream: it decides on whole sets, by what stands in stderr_out,
// and has neither options nor init_result(). Of two results one is enough if the first one says "alone".
#include <cstdlib>
#include <string>
#include <vector>

#include "boinc_db.h"
#include "config.h"
#include "error_numbers.h"
#include "sched_config.h"
#include "sched_msgs.h"
#include "sched_util.h"
#include "validate_util.h"
#include "validate_util2.h"
#include "validator.h"

using namespace std;

static void reject(RESULT& result) {
    result.outcome = RESULT_OUTCOME_VALIDATE_ERROR;
    result.validate_state = VALIDATE_STATE_INVALID;
}

int check_set(vector<RESULT>& results, WORKUNIT& wu, int& canonicalid, double&, bool& retry) {
    log_messages.printf(MSG_NORMAL, "[WU#%ld] set of %d\n", wu.id, static_cast<int>(results.size()));
    for (size_t i = 0; i < results.size(); i++) {
        const string text = results[i].stderr_out;
        if (text == "bad") reject(results[i]);
        if (text == "later") retry = true;
        if (text == "broken") return ERR_READ;
        if (text == "exit") exit(0);
        results[i].opaque = results[i].id + 0.5;
    }
    if (string(results[0].stderr_out) == "alone") {
        results[0].validate_state = VALIDATE_STATE_VALID;
        results[0].claimed_credit = 12;
        canonicalid = static_cast<int>(results[0].id);
        return 0;
    }
    for (auto& a : results) {
        int same = 0;
        for (auto& b : results) same += string(a.stderr_out) == b.stderr_out;
        if (a.outcome != RESULT_OUTCOME_SUCCESS || same < 2) continue;
        for (auto& b : results)
            if (b.outcome == RESULT_OUTCOME_SUCCESS)
                b.validate_state = string(a.stderr_out) == b.stderr_out ? VALIDATE_STATE_VALID : VALIDATE_STATE_INVALID;
        a.claimed_credit = 40;
        canonicalid = static_cast<int>(a.id);
        return 0;
    }
    return 0;
}

void check_pair(RESULT& result, RESULT& canonical, bool& retry) {
    const string text = result.stderr_out;
    if (text == "bad")
        reject(result);
    else if (text == "later")
        retry = true;
    else
        result.validate_state = text == canonical.stderr_out ? VALIDATE_STATE_VALID : VALIDATE_STATE_INVALID;
}
