// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/base/log_record.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>
#include <utility>

#include "sluice/base/text.h"

namespace sluice {
namespace {

constexpr char kHexDigits[] = "0123456789abcdef";
constexpr std::string_view kBegin = "{\"time\":\"";
constexpr std::pair<std::string_view, std::string_view> kTags[] = {
    {"[HOST#", "host"}, {"[USER#", "user"}, {"[WU#", "workunit"}, {"[RESULT#", "result"}};
constexpr std::pair<std::string_view, std::string_view> kKinds[] = {
    {"critical", " [CRITICAL] "}, {"warning", " [warning] "}, {"debug", " [debug] "}};

std::string without_comments(std::string_view text) {
    std::string kept;
    for (;;) {
        const std::size_t begin = text.find("<!--");
        kept += text.substr(0, begin);
        if (begin == text.npos) return kept;
        const std::size_t end = text.find("-->", begin + 4);
        if (end == text.npos) return kept;
        text.remove_prefix(end + 3);
    }
}

std::string text_of_file(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

std::string utc(long long ms, const char* format) {
    const auto seconds = static_cast<std::time_t>(ms / 1000);
    std::tm parts{};
    ::gmtime_r(&seconds, &parts);
    char text[80];
    const std::size_t n = std::strftime(text, sizeof text, format, &parts);
    return {text, n};
}

std::string string_field(std::string_view name, std::string_view value) {
    return ",\"" + std::string(name) + "\":\"" + json_text(value) + "\"";
}

/// The tags stand before the details, which may be a client's words.
std::string ids_in(std::string_view message) {
    std::string fields;
    message = message.substr(0, message.find_first_of(":\"'"));
    for (const auto& [tag, name] : kTags) {
        const std::size_t at = message.find(tag);
        if (at == message.npos) continue;
        const std::string_view rest = message.substr(at + tag.size());
        const std::string_view number = rest.substr(0, rest.find_first_not_of("0123456789"));
        const bool ends = number.size() < rest.size() && (rest[number.size()] == ']' || rest[number.size()] == ' ');
        if (number.empty() || number.size() > 18 || !ends || (number[0] == '0' && number.size() > 1)) continue;
        fields += ",\"" + std::string(name) + "\":" + std::string(number);
    }
    return fields;
}

/// The string of that name, as it stands; "" if there is none. No string holds a quotation mark that is not escaped.
std::string_view raw_string(std::string_view line, std::string_view name) {
    const std::string head = "\"" + std::string(name) + "\":\"";
    const std::size_t begin = line.find(head);
    if (begin == line.npos) return {};
    std::size_t end = begin + head.size();
    while (end < line.size() && line[end] != '"') end += line[end] == '\\' ? 2 : 1;
    return line.substr(begin + head.size(), std::min(end, line.size()) - begin - head.size());
}

/// What json_text() was made of, but on one line, as a log of texts has it.
std::string visible(std::string_view raw) {
    std::string text;
    for (std::size_t at = 0; at < raw.size(); ++at) {
        if (raw[at] != '\\' || at + 1 == raw.size()) {
            text += raw[at];
            continue;
        }
        const char kind = raw[++at];
        if (kind == 'u' && at + 4 < raw.size()) {
            text += "\\x" + std::string(raw.substr(at + 3, 2));
            at += 4;
        } else if (kind == 't') {
            text += '\t';
        } else if (kind == 'n' || kind == 'r') {
            text += {'\\', kind};
        } else {
            text += kind;
        }
    }
    return text;
}

}  // namespace

LogFormat log_format_in(std::string_view config) {
    constexpr std::string_view kTag = "<log_format>";
    const std::string text = without_comments(config);
    const std::size_t begin = text.rfind(kTag);
    if (begin == text.npos) return LogFormat::kText;
    const std::size_t end = text.find('<', begin + kTag.size());
    std::string value = text.substr(begin + kTag.size(), end - begin - kTag.size());
    std::erase_if(value, [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; });
    return value == "json" ? LogFormat::kJson : LogFormat::kText;
}

LogFormat log_format_of_project() {
    const char* given = std::getenv("BOINC_PROJECT_DIR");
    const bool named = given != nullptr && *given != '\0';
    for (const std::string folder : {named ? given : ".", named ? "" : ".."}) {
        if (folder.empty() || ::access((folder + "/config.xml").c_str(), F_OK) != 0) continue;
        return log_format_in(text_of_file(folder + "/config.xml") + text_of_file(folder + "/config_aux.xml"));
    }
    return LogFormat::kText;
}

std::string json_text(std::string_view text) {
    std::string out;
    out.reserve(text.size() + 16);
    while (!text.empty()) {
        const std::size_t n = utf8_sequence(text);
        const auto byte = static_cast<unsigned char>(text[0]);
        const bool control = n == 1 && (byte < 32 || byte == 127);
        if (n == 0)
            out += "\xef\xbf\xbd";
        else if (text[0] == '"' || text[0] == '\\')
            out += {'\\', text[0]};
        else if (text[0] == '\n' || text[0] == '\r' || text[0] == '\t')
            out += {'\\', text[0] == '\n' ? 'n' : text[0] == '\r' ? 'r' : 't'};
        else if (const auto code = static_cast<unsigned char>(text[n - 1]); control || is_high_control(text, 0))
            out += {'\\', 'u', '0', '0', kHexDigits[code >> 4], kHexDigits[code & 15]};
        else
            out += text.substr(0, n);
        text.remove_prefix(n == 0 ? 1 : n);
    }
    return out;
}

std::string json_line(const LogRecord& record) {
    char fraction[16];
    std::snprintf(fraction, sizeof fraction, ".%03dZ\"", static_cast<int>(record.time % 1000));
    std::string line(kBegin);
    line += utc(record.time, "%Y-%m-%dT%H:%M:%S") + fraction + string_field("level", record.level) +
            string_field("program", record.program) + ",\"pid\":" + std::to_string(record.pid);
    if (!record.service.empty()) line += string_field("service", record.service);
    return line + string_field("message", record.message) + ids_in(record.message) + "}\n";
}

std::string as_text_line(std::string_view line) {
    std::string_view json = line;
    if (json.size() > 3 && json[0] == '<' && json[2] == '>') json.remove_prefix(3);
    if (!json.starts_with(kBegin)) return std::string(line);
    std::string time(raw_string(json, "time"));
    if (time.size() != 24) return std::string(line);
    time[10] = ' ';
    const std::size_t pid = json.find("\"pid\":");
    std::string number(pid == json.npos ? "" : json.substr(pid + 6, json.find(',', pid) - pid - 6));
    number.resize(std::max<std::size_t>(number.size(), 5), ' ');
    std::string text = time.substr(0, 23) + "0 UTC [PID=" + number + "]";
    std::string_view mark = " ";
    for (const auto& [level, words] : kKinds)
        if (raw_string(json, "level") == level) mark = words;
    text += mark;
    if (const auto service = raw_string(json, "service"); !service.empty()) text += visible(service) + ": ";
    return text + visible(raw_string(json, "message"));
}

bool stderr_is_journal() {
    const char* stream = std::getenv("JOURNAL_STREAM");
    struct stat info {};
    return stream != nullptr && ::fstat(STDERR_FILENO, &info) == 0 &&
           std::to_string(info.st_dev) + ":" + std::to_string(info.st_ino) == stream;
}

std::string_view journal_priority(std::string_view level) {
    return level == "critical" ? "<2>" : level == "warning" ? "<4>" : level == "debug" ? "<7>" : "<6>";
}

}  // namespace sluice
