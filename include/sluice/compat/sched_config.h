// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Options of config.xml that projects' code reads.
#include <cstdio>
#include <vector>

using std::vector;

#include "boinc_db.h"
#include "sched_msgs.h"

struct SCHED_CONFIG {
    char master_url[256] = "";
    char long_name[256] = "";
    char db_name[256] = "";
    char db_user[256] = "";
    char db_passwd[256] = "";
    char db_host[256] = "";
    char db_ssl_ca[256] = "";
    char project_dir[256] = "";
    char key_dir[256] = "";
    char download_url[256] = "";
    char download_dir[256] = "";
    char upload_url[256] = "";
    char upload_dir[256] = "";
    int uldl_dir_fanout = 1024;
    int daily_result_quota = 0;
    int homogeneous_redundancy = 0;
    bool cache_md5_info = false;
    bool enable_assignment = false;
    bool one_result_per_host_per_wu = false;
    bool one_result_per_user_per_wu = false;
    bool debug_credit = false;

    /// Has been called when a handler's init is.
    int parse_file(const char* folder = nullptr);
    // Where a file lies in the upload or download folder; `path` has MAXPATHLEN bytes.
    int upload_path(const char* name, char* path);
    int download_path(const char* name, char* path);
    /// Below the project's folder; valid until the next call.
    const char* project_path(const char* format, ...) __attribute__((format(printf, 2, 3)));
};

extern SCHED_CONFIG config;
