// SPDX-License-Identifier: LGPL-3.0-or-later
#include "src/daemon/usage_text.h"

#include "sluice/base/text.h"

namespace sluice {
namespace {

constexpr std::size_t kWidth = 80, kHelpColumn = 30;

/// Words of `text`, wrapped at kWidth, every line but the first indented.
std::string wrapped(const std::string& text, std::size_t indent) {
    std::string out;
    std::size_t column = indent;
    for (const auto line : split(text, '\n')) {
        if (!out.empty()) {
            out += '\n' + std::string(indent, ' ');
            column = indent;
        }
        for (const auto word : split(line, ' ')) {
            if (column > indent && column + word.size() > kWidth) {
                out.pop_back();
                out += '\n' + std::string(indent, ' ');
                column = indent;
            }
            out.append(word) += ' ';
            column += word.size() + 1;
        }
        out.pop_back();
    }
    return out;
}

std::string synopsis(const ProgramDoc& doc) {
    std::string out = doc.program + " [options]";
    for (const auto& option : doc.options) {
        if (option.positional) out += " [" + option.names + " ...]";
    }
    return out;
}

/// Text for roff: backslashes, minus signs, and lines that would be taken for a request.
std::string roff(const std::string& text) {
    std::string out;
    bool line_start = true;
    for (const char c : text) {
        if (line_start && (c == '.' || c == '\'')) out += "\\&";
        line_start = c == '\n';
        if (c == '\\') {
            out += "\\e";
        } else if (c == '-') {
            out += "\\-";
        } else {
            out += c;
        }
    }
    return out;
}

/// Paragraphs are separated by empty lines in our texts, by .PP in roff.
std::string roff_paragraphs(std::string text) {
    text = roff(text);
    replace_all(text, "\n\n", "\n.PP\n");
    return text;
}

/// Sections are lists of files, signals, commands: their lines stay lines.
std::string roff_lines(std::string text) {
    replace_all(text, "\n\n", "\f");
    text = roff(text);
    replace_all(text, "\n", "\n.br\n");
    replace_all(text, "\f", "\n.PP\n");
    return text;
}

}  // namespace

std::string usage_text(const ProgramDoc& doc) {
    std::string out = "usage: " + synopsis(doc) + "\n" + wrapped(doc.summary, 0) + "\n";
    if (!doc.description.empty()) out += "\n" + wrapped(doc.description, 0) + "\n";
    out += "\noptions (--name and -name are the same):\n";
    for (const auto& option : doc.options) {
        std::string left = "  " + option.names;
        if (!option.value.empty()) left += ' ' + option.value;
        left += ' ';
        if (left.size() < kHelpColumn) {
            left.resize(kHelpColumn, ' ');
        } else {
            left += '\n' + std::string(kHelpColumn, ' ');
        }
        out += left + wrapped(option.help, kHelpColumn) + "\n";
    }
    for (const auto& [title, text] : doc.sections) out += "\n" + title + "\n" + wrapped(text, 0) + "\n";
    return out;
}

std::string man_page(const ProgramDoc& doc, const std::string& version) {
    std::string title = doc.program;
    for (char& c : title) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 32 : c);
    std::string out = ".TH " + title + " 1 \"\" \"Sluice " + version + "\" \"Sluice\"\n";
    out += ".SH NAME\n" + roff(doc.program) + " \\- " + roff(doc.summary) + "\n";
    out += ".SH SYNOPSIS\n" + roff(synopsis(doc)) + "\n";
    if (!doc.description.empty()) out += ".SH DESCRIPTION\n" + roff_paragraphs(doc.description) + "\n";
    out += ".SH OPTIONS\n--name and -name are the same; a value is the next argument.\n";
    for (const auto& option : doc.options) {
        out += ".TP\n.B " + roff(option.names);
        if (!option.value.empty()) out += " \\fI" + roff(option.value) + "\\fR";
        out += "\n" + roff(option.help) + "\n";
    }
    for (const auto& [name, text] : doc.sections) out += ".SH " + roff(name) + "\n" + roff_lines(text) + "\n";
    return out;
}

}  // namespace sluice
