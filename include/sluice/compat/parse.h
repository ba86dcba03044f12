// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A reader of BOINC's XML, and the searches in text that older code uses.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "error_numbers.h"
#include "miofile.h"
#include "str_util.h"

#define TAG_BUF_LEN 4096

/// Walks over tags and texts one by one. The parse_* functions ask "is the current tag this one?", and if it is, read
/// its value up to its end tag.
struct XML_PARSER {
    char parsed_tag[TAG_BUF_LEN];
    bool is_tag;
    MIOFILE* f;

    explicit XML_PARSER(MIOFILE* from);
    void init(MIOFILE* from) { f = from; }
    /// The next tag (is_tag) or text. True: there is none. The tag's attributes go to `attributes`, cut to `size`.
    bool get_tag(char* attributes = nullptr, int size = 0);
    bool match_tag(const char* tag) const { return strcmp(parsed_tag, tag) == 0; }
    /// Skips what stands before <tag>. False: it is not there.
    bool parse_start(const char* tag);
    bool parse_str(const char* tag, char* value, int size);
    bool parse_string(const char* tag, std::string& value);
    bool parse_int(const char* tag, int& value);
    bool parse_long(const char* tag, long& value);
    bool parse_ulong(const char* tag, unsigned long& value);
    bool parse_ulonglong(const char* tag, unsigned long long& value);
    bool parse_double(const char* tag, double& value);
    bool parse_bool(const char* tag, bool& value);
    /// All up to `end_tag`, trimmed. ERR_XML_PARSE: it does not fit, or there is no such end.
    int element_contents(const char* end_tag, char* value, int size);
    /// Skips the current element, whose start tag was just read.
    void skip_unexpected(const char* tag, bool verbose, const char* where);
    void skip_unexpected(bool verbose = false, const char* where = "") { skip_unexpected(parsed_tag, verbose, where); }
};

// In `text`: <tag>value</tag>. False: it is not there.
extern bool parse_str(const char* text, const char* tag, char* value, int size);
extern bool parse_str(const char* text, const char* tag, std::string& value);
extern bool parse_bool(const char* text, const char* tag, bool& value);
extern bool parse_int(const char* text, const char* tag, int& value);
extern bool parse_double(const char* text, const char* tag, double& value);
inline bool match_tag(const char* text, const char* tag) { return strstr(text, tag) != nullptr; }
inline bool match_tag(const std::string& text, const char* tag) { return match_tag(text.c_str(), tag); }
extern void xml_escape(const char* text, char* escaped, int size);
extern void xml_unescape(std::string& text);
extern void xml_unescape(char* text);
