// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/adopt/config_edit.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "sluice/base/error.h"
#include "sluice/base/text.h"

namespace sluice {
namespace {

constexpr auto kNowhere = std::string_view::npos;

/// The same text with blanks in place of comments and of each '<' in CDATA, so that tags in them are not found. Offsets
/// stay.
std::string without_comments(std::string_view config) {
    constexpr std::string_view kComment = "<!--", kCdata = "<![CDATA[";
    std::string text(config);
    for (std::size_t at = 0; (at = text.find("<!", at)) != kNowhere;) {
        const bool comment = text.compare(at, kComment.size(), kComment) == 0;
        if (!comment && text.compare(at, kCdata.size(), kCdata) != 0) {
            at += 2;
            continue;
        }
        const std::size_t begin = comment ? at : at + kCdata.size();
        const std::size_t found = text.find(comment ? "-->" : "]]>", at + (comment ? kComment : kCdata).size());
        const std::size_t end = found == kNowhere ? text.size() : found + 3;
        std::replace_if(
            text.begin() + static_cast<std::ptrdiff_t>(begin), text.begin() + static_cast<std::ptrdiff_t>(end),
            [comment](char c) { return comment ? c != '\n' : c == '<'; }, ' ');
        at = end;
    }
    return text;
}

/// Of an element: from its first byte to behind its last one, and of the text in it.
struct Span {
    std::size_t begin = 0, text = 0, text_end = 0, end = 0;
};

/// Attributes may stand in its start tag. <name/> is none.
std::optional<Span> element(std::string_view text, std::string_view name, std::size_t from, std::size_t to) {
    const std::string open = fmt::format("<{}", name), close = fmt::format("</{}>", name);
    for (std::size_t begin = from; (begin = text.find(open, begin)) < to; begin += open.size()) {
        const std::size_t behind = begin + open.size(), end_of_tag = text.find('>', behind);
        if (end_of_tag == kNowhere) return std::nullopt;
        if (std::string_view(" \t\r\n>").find(text[behind]) == kNowhere || text[end_of_tag - 1] == '/') continue;
        const std::size_t text_end = text.find(close, end_of_tag);
        if (text_end == kNowhere || text_end >= to) return std::nullopt;
        return Span{begin, end_of_tag + 1, text_end, text_end + close.size()};
    }
    return std::nullopt;
}

/// The whole lines that an element takes, if nothing else stands on them.
Span with_its_lines(std::string_view text, Span span) {
    const std::size_t line = text.find_last_not_of(" \t", span.begin == 0 ? 0 : span.begin - 1);
    const std::size_t next = text.find_first_not_of(" \t\r", span.end);
    if (line == kNowhere || text[line] != '\n' || next == kNowhere || text[next] != '\n') return span;
    span.begin = line + 1, span.end = next + 1;
    return span;
}

/// What stands before the tag at `at` on its line, if that is blank.
std::string indent_of(std::string_view text, std::size_t at) {
    const std::size_t line = text.rfind('\n', at == 0 ? 0 : at - 1);
    const std::string_view before = line == kNowhere ? text.substr(0, at) : text.substr(line + 1, at - line - 1);
    return before.find_first_not_of(" \t") == kNowhere ? std::string(before) : "";
}

/// `line` in front of the tag at `at`, one level deeper than that.
std::string insert_before(std::string_view config, std::size_t at, const std::string& line) {
    const std::string indent = indent_of(config, at);
    const std::size_t start = at - indent.size();
    const bool own_line = start == 0 || config[start - 1] == '\n';
    return fmt::format("{}{}{}    {}\n{}", config.substr(0, start), own_line ? "" : "\n", indent, line,
                       config.substr(start));
}

/// Of several the last one: it counts, here as upstream.
std::optional<Span> option_span(std::string_view text, const std::string& name) {
    const auto config = element(text, "config", 0, kNowhere);
    std::optional<Span> last;
    for (std::size_t from = config ? config->text : kNowhere; from != kNowhere;) {
        const auto next = element(text, name, from, config->text_end);
        from = next ? next->end : kNowhere;
        if (next) last = next;
    }
    return last;
}

}  // namespace

std::optional<std::string> option_text(std::string_view config, const std::string& name) {
    const auto span = option_span(without_comments(config), name);
    if (!span) return std::nullopt;
    return std::string(config.substr(span->text, span->text_end - span->text));
}

std::string with_option(std::string_view config, const std::string& name, const std::optional<std::string>& value) {
    const std::string text = without_comments(config);
    std::string out(config);
    if (const auto there = option_span(text, name)) {
        if (value) return out.replace(there->text, there->text_end - there->text, *value);
        const Span lines = with_its_lines(config, *there);
        return out.erase(lines.begin, lines.end - lines.begin);
    }
    if (!value) return out;
    const std::size_t end = text.find("</config>");
    if (end == kNowhere)
        throw ConfigError("config.xml has no </config>: put the options between <config> and </config>");
    return insert_before(config, end, fmt::format("<{}>{}</{}>", name, *value, name));
}

std::string with_daemon(std::string_view config, const std::string& command) {
    const std::string text = without_comments(config);
    const std::string daemon = fmt::format("<daemon><cmd>{}</cmd></daemon>", command);
    if (const std::size_t end = text.find("</daemons>"); end != kNowhere) return insert_before(config, end, daemon);
    for (const std::string_view empty : {"<daemons/>", "<daemons />"})  // upstream's start reads the first one only
        if (const std::size_t at = text.find(empty); at != kNowhere)
            return std::string(config).replace(at, empty.size(), fmt::format("<daemons>{}</daemons>", daemon));
    const std::size_t end = text.find("</boinc>");
    if (end == kNowhere) throw ConfigError("config.xml has no </boinc> at its end: add it");
    return insert_before(config, end, fmt::format("<daemons>{}</daemons>", daemon));
}

std::string without_daemons(std::string_view config, std::span<const std::string_view> programs) {
    std::string out(config), text = without_comments(config);
    for (std::size_t from = 0;;) {
        const auto daemon = element(text, "daemon", from, kNowhere);
        if (!daemon) return out;
        from = daemon->end;
        const auto command = element(text, "cmd", daemon->text, daemon->text_end);
        if (!command) continue;
        const std::string words(trim(std::string_view(text).substr(command->text, command->text_end - command->text)));
        const std::string program = std::filesystem::path(words.substr(0, words.find_first_of(" \t\n"))).filename();
        if (std::ranges::find(programs, program) == programs.end()) continue;
        const Span lines = with_its_lines(out, *daemon);
        out.erase(lines.begin, lines.end - lines.begin);
        text.erase(lines.begin, lines.end - lines.begin);
        from = lines.begin;
    }
}

}  // namespace sluice
