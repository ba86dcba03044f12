// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The log, in upstream's line shape, on standard error.
#include <cstdarg>
#include <cstdio>

enum { MSG_CRITICAL = 1, MSG_WARNING = 2, MSG_NORMAL = 3, MSG_DEBUG = 4 };

class SCHED_MSG_LOG {
  public:
    int debug_level = MSG_NORMAL;

    void printf(int kind, const char* format, ...) __attribute__((format(printf, 3, 4)));
    /// Each line of `text` on a line of its own, behind the prefix.
    void printf_multiline(int kind, const char* text, const char* prefix_format, ...)
        __attribute__((format(printf, 4, 5)));
    void vprintf(int kind, const char* format, va_list arguments);
    void set_debug_level(int level) { debug_level = level; }
};

extern SCHED_MSG_LOG log_messages;
