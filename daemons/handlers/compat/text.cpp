// SPDX-License-Identifier: LGPL-3.0-or-later
// Functions of util.h, str_util.h and str_replace.h.
#include <sys/time.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <string_view>

#include "include/sluice/compat/str_util.h"
#include "include/sluice/compat/util.h"

// The C library has them, too, from version 2.38 on.
extern "C++" {
std::size_t strlcpy(char* to, const char* from, std::size_t size) {
    const std::size_t n = std::strlen(from);
    if (size > 0) {
        const std::size_t fits = std::min(n, size - 1);
        std::memcpy(to, from, fits);
        to[fits] = '\0';
    }
    return n;
}

std::size_t strlcat(char* to, const char* from, std::size_t size) {
    const std::size_t n = ::strnlen(to, size);
    return n == size ? n + std::strlen(from) : n + strlcpy(to + n, from, size - n);
}
}

namespace {

bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

std::string_view stripped(std::string_view text) {
    while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
    return text;
}

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

}  // namespace

void strip_whitespace(char* text) {
    const std::string_view kept = stripped(text);
    std::memmove(text, kept.data(), kept.size());
    text[kept.size()] = '\0';
}

void strip_whitespace(std::string& text) { text = std::string(stripped(text)); }

void downcase_string(std::string& text) { std::transform(text.begin(), text.end(), text.begin(), lower); }
void downcase_string(char* text) { std::transform(text, text + std::strlen(text), text, lower); }

char* time_to_string(double time, bool utc) {
    static char text[64];
    const auto seconds = static_cast<time_t>(time);
    tm parts{};
    utc ? ::gmtime_r(&seconds, &parts) : ::localtime_r(&seconds, &parts);
    std::strftime(text, sizeof text, "%d-%b-%Y %H:%M:%S", &parts);
    return text;
}

char* precision_time_to_string(double time) {
    static char text[72];
    const auto parts = std::min(static_cast<int>((time - std::floor(time)) * 10000), 9999);
    std::snprintf(text, sizeof text, "%s.%04d", time_to_string(std::floor(time)), parts);
    return text;
}

std::vector<std::string> split(const std::string& text, char delimiter) {
    std::vector<std::string> parts(1);
    for (const char c : text)
        if (c == delimiter)
            parts.emplace_back();
        else
            parts.back() += c;
    return parts;
}

bool is_valid_filename(const char* name) {
    const std::string_view text = name;
    if (text.empty() || text.front() == '/' || text.find("..") != std::string_view::npos) return false;
    return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) >= ' '; });
}

int path_to_filename(const std::string& path, std::string& name) {
    const std::size_t slash = path.rfind('/');
    if (path.empty() || slash == path.size() - 1) return -1;
    name = path.substr(slash == std::string::npos ? 0 : slash + 1);
    return 0;
}

double dtime() {
    timeval now{};
    ::gettimeofday(&now, nullptr);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_usec) * 1e-6;
}

void boinc_sleep(double seconds) {
    if (!(seconds > 0)) return;
    timespec rest{static_cast<time_t>(seconds),
                  static_cast<long>((seconds - static_cast<double>(static_cast<long>(seconds))) * 1e9)};
    while (::nanosleep(&rest, &rest) != 0) {
    }
}
