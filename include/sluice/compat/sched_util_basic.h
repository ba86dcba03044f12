// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What daemons of upstream share.
#include <cstdio>
#include <string>

#include "util.h"

#define STOP_DAEMONS_FILENAME "stop_daemons"

/// ERR_FOPEN: no such file; ERR_OPENDIR: its folder can't be opened, so try again later.
extern int try_fopen(const char* path, FILE*& file, const char* mode);
/// `path` has MAXPATHLEN bytes. `create`: the folder is made.
extern int dir_hier_path(const char* name, const char* root, int fanout, char* path, bool create = false);
extern int dir_hier_url(const char* name, const char* root, int fanout, char* url);
/// "--name" or "-name".
extern bool is_arg(const char* word, const char* name);
/// The daemon, not this code, looks for stop_daemons: does nothing.
inline void check_stop_daemons() {}
inline void daemon_sleep(int seconds) { boinc_sleep(seconds); }
