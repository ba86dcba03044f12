// SPDX-License-Identifier: LGPL-3.0-or-later
// An assimilator as projects have written them for upstream, with faults: the name of the workunit says which.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
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

/// "" if what is not there, and what is wrong, is said.
static std::string other_errors(DB_HOST& host) {
    DB_HOST none;
    if (none.lookup_id(999999) != ERR_DB_NOT_FOUND) return "found";
    if (none.lookup("where nothing=1") != 1054) return "no error";
    if (*boinc_db.error_string() == '\0' || host.id == 0) return "no text";
    return "";
}

/// What projects ask the database: rows by id, by a condition, and statements of their own.
static int look_up(WORKUNIT& wu, RESULT& canonical) {
    DB_HOST host;
    DB_USER user;
    DB_RESULT result;
    DB_WORKUNIT again;
    DB_APP app;
    DB_HOST_APP_VERSION hav;
    if (int retval = host.lookup_id(canonical.hostid)) return retval;
    if (int retval = user.lookup_id(host.userid)) return retval;
    if (int retval = again.lookup_id(wu.id)) return retval;
    if (int retval = app.lookup("where name='a'")) return retval;
    if (int retval = hav_lookup(hav, host.id, generalized_app_version_id(canonical.app_version_id, app.id)))
        return retval;
    char clause[256];
    sprintf(clause, "where workunitid=%ld order by id", wu.id);
    std::string names;
    while (!result.enumerate(clause)) {
        DB_HOST other;  // asked while the rows are being read
        if (other.lookup_id(result.hostid) == 0) names += std::string(" ") + result.name + "@" + other.os_name;
    }
    long n = 0;
    if (int retval = result.count(n, clause)) return retval;
    if (other_errors(host) != "") return ERR_NULL;
    if (int retval = boinc_db.do_query("CREATE TABLE IF NOT EXISTS kept (id INT PRIMARY KEY, who VARCHAR(99))"))
        return retval;
    char who[200] = "D'Arcy \\";
    escape_string(who, sizeof who);
    escape_string(nullptr, 0);  // no room: nothing is touched
    sprintf(clause, "REPLACE INTO kept VALUES (%ld, '%s')", wu.id, who);
    if (int retval = boinc_db.do_query(clause)) return retval;
    if (int retval = again.update_field("opaque=2.5")) return retval;
    log_messages.printf(MSG_NORMAL, "looked up: %ld results%s, %s of %s, %.0f bytes of input, %d valid\n", n,
                        names.c_str(), host.os_name, user.name, (double)strlen(again.xml_doc), hav.consecutive_valid);
    return boinc_db.mysql ? 0 : ERR_NULL;
}

/// As a server does with a connection that has rested for hours.
static void let_the_server_close_it() {
    const pid_t child = fork();
    if (child == 0) {
        boinc_db.close();
        _exit(0);
    }
    waitpid(child, nullptr, 0);
}

/// Fails between two writes, forgets to commit, or loses its connection: the name says where.
static int in_transaction(const std::string& name, long id) {
    char text[200];
    if (int retval = boinc_db.start_transaction()) return retval;
    sprintf(text, "INSERT INTO own VALUES (%ld, 1)", id);
    if (int retval = boinc_db.do_query(text)) return retval;
    if (name == "half") return ERR_FOPEN;
    if (name == "lost") {
        let_the_server_close_it();
        long n = 0;
        boinc_db.get_long("select count(*) from own", n);  // its errors are not looked at
        boinc_db.do_query(text);
        boinc_db.commit_transaction();
    }
    return 0;
}

static int rest() {
    long n = 0;
    if (int retval = boinc_db.get_long("select count(*) from own", n)) return retval;
    let_the_server_close_it();
    return ERR_FREAD;
}

int assimilate_handler(WORKUNIT& wu, std::vector<RESULT>& results, RESULT& canonical) {
    const std::string name = wu.name;
    if (name == "crash") abort();
    if (name == "defer") return DEFER_ASSIMILATION;
    if (name == "error") return ERR_FOPEN;
    if (name == "look up") return look_up(wu, canonical);
    long n = 0;
    if (name == "long")
        return boinc_db.get_long("select benchmark(2000000000, md5(1))", n) != 0 || n != 0 ? ERR_TIMEOUT : 0;
    if (name == "rested") return rest();
    if (name == "half" || name == "lost" || name.compare(0, 4, "open") == 0) return in_transaction(name, wu.id);
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
