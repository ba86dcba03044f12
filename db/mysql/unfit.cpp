// SPDX-License-Identifier: LGPL-3.0-or-later
#include "db/mysql/unfit.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "sluice/base/text.h"

namespace sluice {
namespace {

constexpr int kOutOfRange = 1264, kTruncated = 1265, kNoDefault = 1364, kIncorrectValue = 1366, kTooLong = 1406;

/// The numbers that clients send. The server decides nothing by how large they are beyond the column's range.
constexpr std::array<std::string_view, 36> kMeasuredByClients = {"timezone",
                                                                 "on_frac",
                                                                 "connected_frac",
                                                                 "active_frac",
                                                                 "duration_correction_factor",
                                                                 "cpu_efficiency",
                                                                 "p_ncpus",
                                                                 "p_fpops",
                                                                 "p_iops",
                                                                 "p_membw",
                                                                 "m_nbytes",
                                                                 "m_cache",
                                                                 "m_swap",
                                                                 "d_total",
                                                                 "d_free",
                                                                 "d_boinc_used_total",
                                                                 "d_boinc_used_project",
                                                                 "d_boinc_max",
                                                                 "n_bwup",
                                                                 "n_bwdown",
                                                                 "gpu_active_frac",
                                                                 "p_ngpus",
                                                                 "p_gpu_fpops",
                                                                 "nsame_ip_addr",
                                                                 "rpc_seqno",
                                                                 "avg_turnaround",
                                                                 "cpu_time",
                                                                 "elapsed_time",
                                                                 "opaque",
                                                                 "exit_status",
                                                                 "peak_working_set_size",
                                                                 "peak_swap_size",
                                                                 "peak_disk_usage",
                                                                 "flops_estimate",
                                                                 "app_version_num",
                                                                 "turnaround_time"};

/// Texts that name something, or that a program reads: a part of one is worse than none.
bool must_be_whole(const std::string& table, std::string_view column) {
    constexpr std::array<std::string_view, 9> kColumns = {
        "xml_doc",      "xml_doc_in", "plan_class", "result_template_file", "email_addr", "authenticator",
        "logical_name", "shortname",  "token"};
    if (column == "name") return table != "user" && table != "team";
    return std::ranges::find(kColumns, column) != kColumns.end();
}

/// The last part of the first quoted name: 'p_ncpus', or `db`.`host`.`p_ncpus`.
std::string column_of(std::string_view text) {
    const auto word = text.starts_with("Field ") ? 0 : text.find("column ");
    if (word == text.npos) return "";
    text.remove_prefix(text.find(' ', word) + 1);
    const char quote = text.empty() ? ' ' : text.front();
    if (quote != '\'' && quote != '`') return "";
    std::string name;
    while (!text.empty() && text.front() == quote) {
        const auto end = text.find(quote, 1);
        name = text.substr(1, end == text.npos ? end : end - 1);
        text.remove_prefix(end == text.npos ? text.size() : end + 1);
        if (text.starts_with('.')) text.remove_prefix(1);
    }
    return name;
}

/// "host" of INSERT INTO host (…) and UPDATE host SET …
std::string table_of(std::string_view statement) {
    const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
    bool next = false;
    for (std::size_t begin = 0, end = 0; begin < statement.size(); begin = end + 1) {
        for (end = begin; end < statement.size() && is_word(statement[end]);) ++end;
        const std::string_view word = statement.substr(begin, end - begin);
        if (next && !word.empty()) return std::string(word);
        const std::string verb = to_lower_ascii(word);
        next = verb == "into" || verb == "update" || (next && word.empty());
    }
    return "?";
}

std::string lost_text(const std::string& table, const std::string& column) {
    return fmt::format(
        "{0}.{1}: the column can't hold a text whole that was to be stored; '?' stands for the characters that its "
        "character set lacks, or its end is missing. ALTER TABLE {0} CONVERT TO CHARACTER SET utf8mb4 COLLATE "
        "utf8mb4_unicode_ci keeps all characters",
        table, column);
}

std::string no_default(const std::string& table, const std::string& column) {
    return fmt::format(
        "{0}.{1}: the project's column has no default, and 0 or '' was stored; each such row costs some statements "
        "more. ALTER TABLE {0} ALTER COLUMN {1} SET DEFAULT 0 (of a text: '', of JSON: '{{}}') saves them",
        table, column);
}

/// What stands between backquotes, `n` such words later.
std::string backquoted(std::string_view text, int n) {
    for (;; --n) {
        const auto begin = text.find('`'), end = text.find('`', begin + 1);
        if (begin == text.npos || end == text.npos) return "?";
        if (n == 0) return std::string(text.substr(begin + 1, end - begin - 1));
        text.remove_prefix(end + 1);
    }
}

}  // namespace

bool is_foreign_text(int code) {
    constexpr std::array kCodes = {1267, 1270, 1271, 3988};
    return std::ranges::find(kCodes, code) != kCodes.end();
}

bool is_unfit(int code) {
    constexpr std::array kCodes = {kOutOfRange, kTruncated, kNoDefault, kIncorrectValue, kTooLong};
    return std::ranges::find(kCodes, code) != kCodes.end() || is_foreign_text(code);
}

std::string check_ignored(std::string_view server_text) {
    return fmt::format(
        "table {}: the project's CHECK {} refuses a row that programs store; it was stored all the same, and each write "
        "to such a row costs some statements more. Give the CHECK's column a default that meets it, for "
        "JSON '{{}}'. Set that value in all rows that do not meet the CHECK",
        backquoted(server_text, 2), backquoted(server_text, 0));
}

std::optional<std::string> judge(const ServerWarning& warning, std::string_view statement) {
    const std::string column = column_of(warning.text), table = table_of(statement);
    const bool whole = must_be_whole(table, column);
    switch (warning.code) {
        case kNoDefault: return whole ? std::nullopt : std::optional(no_default(table, column));
        case kIncorrectValue:
            if (!warning.text.starts_with("Incorrect string value")) return std::nullopt;
            [[fallthrough]];
        case kTooLong:
        case kTruncated: return whole ? std::nullopt : std::optional(lost_text(table, column));
        case kOutOfRange:
            if (std::ranges::find(kMeasuredByClients, column) == kMeasuredByClients.end()) return std::nullopt;
            return fmt::format("{}.{}: a client's number was beyond what the column can hold; the nearest was stored",
                               table, column);
        default: return "";
    }
}

}  // namespace sluice
