// SPDX-License-Identifier: LGPL-3.0-or-later
#include <sys/time.h>

#include <cstring>
#include <ctime>
#include <string>

#include "include/sluice/compat/sched_msgs.h"

SCHED_MSG_LOG log_messages;

namespace {

const char* kind_text(int kind) {
    return kind == MSG_CRITICAL ? "[CRITICAL]" : kind == MSG_WARNING ? "[warning]" : kind == MSG_DEBUG ? "[debug]" : "";
}

std::string formatted(const char* format, va_list arguments) {
    va_list again;
    va_copy(again, arguments);
    std::string text(static_cast<std::size_t>(std::max(std::vsnprintf(nullptr, 0, format, again), 0)) + 1, '\0');
    va_end(again);
    std::vsnprintf(text.data(), text.size(), format, arguments);
    text.pop_back();
    return text;
}

void write_line(int kind, std::string text) {
    timeval now{};
    ::gettimeofday(&now, nullptr);
    tm parts{};
    ::gmtime_r(&now.tv_sec, &parts);
    char time[64];
    std::strftime(time, sizeof time, "%Y-%m-%d %H:%M:%S", &parts);
    if (text.empty() || text.back() != '\n') text += '\n';
    std::fprintf(stderr, "%s.%04d UTC %s %s", time, static_cast<int>(now.tv_usec / 100), kind_text(kind), text.c_str());
}

}  // namespace

void SCHED_MSG_LOG::vprintf(int kind, const char* format, va_list arguments) {
    if (kind <= debug_level) write_line(kind, formatted(format, arguments));
}

void SCHED_MSG_LOG::printf(int kind, const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vprintf(kind, format, arguments);
    va_end(arguments);
}

void SCHED_MSG_LOG::printf_multiline(int kind, const char* text, const char* prefix_format, ...) {
    if (kind > debug_level) return;
    va_list arguments;
    va_start(arguments, prefix_format);
    const std::string prefix = formatted(prefix_format, arguments);
    va_end(arguments);
    for (const char* line = text; *line != '\0';) {
        const std::size_t n = std::strcspn(line, "\n");
        write_line(kind, prefix + " " + std::string(line, n));
        line += n;
        if (*line == '\n') ++line;
    }
}
