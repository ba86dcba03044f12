// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Small functions on text.
#include <cstring>
#include <string>
#include <vector>

#include "error_numbers.h"
#include "str_replace.h"

#define safe_strcpy(to, from) strlcpy(to, from, sizeof(to))
#define safe_strcat(to, from) strlcat(to, from, sizeof(to))

extern void strip_whitespace(char* text);
extern void strip_whitespace(std::string& text);
extern void downcase_string(std::string& text);
extern void downcase_string(char* text);
/// UTC, or local time; valid until the next call.
extern char* time_to_string(double time, bool utc = false);
/// Local time with fractions; valid until the next call.
extern char* precision_time_to_string(double time);
extern std::vector<std::string> split(const std::string& text, char delimiter);
extern bool is_valid_filename(const char* name);
/// What stands behind the last '/'. Not 0: nothing does.
extern int path_to_filename(const std::string& path, std::string& name);
inline bool starts_with(const std::string& text, const std::string& with) {
    return text.compare(0, with.size(), with) == 0;
}
inline bool ends_with(const std::string& text, const std::string& with) {
    return text.size() >= with.size() && text.compare(text.size() - with.size(), with.size(), with) == 0;
}
