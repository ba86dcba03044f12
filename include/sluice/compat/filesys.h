// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Files and folders. Functions return 0, or a number of error_numbers.h.
#include <dirent.h>
#include <sys/param.h>
#include <sys/types.h>

#include <cstdio>
#include <string>

extern "C" {
extern int boinc_delete_file(const char* path);
extern int boinc_touch_file(const char* path);
/// As fopen(), closed by exec.
extern FILE* boinc_fopen(const char* path, const char* mode);
extern int boinc_copy(const char* from, const char* to);
/// Also between file systems.
extern int boinc_rename(const char* from, const char* to);
/// 0, too, if it is there already. Mode 0771.
extern int boinc_mkdir(const char* path);
extern int boinc_rmdir(const char* path);
/// Makes the folders of `file` (a path below `folder`).
extern int boinc_make_dirs(const char* folder, const char* file);
extern void boinc_getcwd(char* path);
// 1 or 0
extern int is_file(const char* path);
extern int is_dir(const char* path);
extern int is_symlink(const char* path);
extern int boinc_file_exists(const char* path);
}

extern int file_size(const char* path, double& bytes);
/// To be freed; ends with 0. `max`: no more bytes, the last ones with `tail`; 0: all.
extern int read_file_malloc(const char* path, char*& text, size_t max = 0, bool tail = false);
extern int read_file_string(const char* path, std::string& text, size_t max = 0, bool tail = false);

typedef DIR* DIRREF;
extern DIRREF dir_open(const char* path);
/// The next name but . and .. ; not 0: there is none.
extern int dir_scan(char* name, DIRREF folder, int size);
extern int dir_scan(std::string& name, DIRREF folder);
extern void dir_close(DIRREF folder);
