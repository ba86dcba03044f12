// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The output files of a result.
#include <string>
#include <vector>

#include "boinc_db_types.h"

struct OUTPUT_FILE_INFO {
    std::string phys_name;
    std::string path;
    std::string logical_name;
    bool optional = false;
    bool no_validate = false;
};

// From result.xml_doc_in. Not 0: it names no such file, or can't be read.
extern int get_output_file_info(const RESULT& result, OUTPUT_FILE_INFO& file);
extern int get_output_file_infos(const RESULT& result, std::vector<OUTPUT_FILE_INFO>& files);
extern int get_output_file_path(const RESULT& result, std::string& path);
extern int get_output_file_paths(const RESULT& result, std::vector<std::string>& paths);
/// Of one of these paths.
extern int get_logical_name(RESULT& result, const std::string& path, std::string& name);
/// NAME_0_r12345_0 becomes NAME_0_0.
extern void remove_random_from_filename(const char* in, char* out);
/// Output files are looked for in the current folder.
extern bool standalone;

// To be supplied:

/// The words of the command line that the daemon does not know, behind the program's name. Not 0: it does not start.
extern int validate_handler_init(int argc, char** argv);
/// Prints its own options.
extern void validate_handler_usage();
