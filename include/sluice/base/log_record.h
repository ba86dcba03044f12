// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A line of a log as <log_format>json</log_format> has it: one object of RFC 8259. It needs nothing else of ours, for
// it is also part of the library that projects' own code is linked with.
#include <string>
#include <string_view>

namespace sluice {

enum class LogFormat { kText, kJson };

/// Of a config.xml, or of several of them, one behind the other: the last <log_format> counts. Anything but json is
/// text. Programs log before they can read options, and some never read any.
LogFormat log_format_in(std::string_view config);
/// Of config.xml and config_aux.xml in $BOINC_PROJECT_DIR, else in "." or ".."; text where there is none.
LogFormat log_format_of_project();

struct LogRecord {
    long long time = 0;      ///< UNIX ms
    std::string_view level;  ///< critical, warning, normal or debug
    std::string_view program;
    long pid = 0;
    std::string_view service;  ///< of a program with several; may be empty
    std::string_view message;  ///< any bytes
};

/// One line, with its end. Further fields are the ids of the tags at the message's begin: [HOST#7] is "host":7. What is
/// no UTF-8 is U+FFFD.
std::string json_line(const LogRecord& record);

/// What a string of JSON holds for `text`, without quotation marks. Control characters are escaped, also those that
/// JSON allows.
std::string json_text(std::string_view text);

/// `line` as it would stand in a log of texts, if it is one of json_line(); else `line` itself. A record under journald
/// may have its priority before it. Line breaks of the message are \n, as in a log of texts.
std::string as_text_line(std::string_view line);

/// Whether stderr is a stream that journald reads: systemd names it in JOURNAL_STREAM.
bool stderr_is_journal();
/// What journald takes off a line's begin: the priority of syslog, as "<4>".
std::string_view journal_priority(std::string_view level);

}  // namespace sluice
