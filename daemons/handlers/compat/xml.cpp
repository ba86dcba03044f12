// SPDX-License-Identifier: LGPL-3.0-or-later
// Functions of parse.h and miofile.h.
#include <cctype>

#include "include/sluice/compat/parse.h"

int MIOFILE::_getc() {
    if (f != nullptr) return std::fgetc(f);
    if (buf == nullptr || *buf == '\0') return EOF;
    return static_cast<unsigned char>(*buf++);
}

int MIOFILE::_ungetc(int c) {
    if (f != nullptr) return std::ungetc(c, f);
    --buf;
    return c;
}

char* MIOFILE::fgets(char* line, int size) {
    if (f != nullptr) return std::fgets(line, size, f);
    int n = 0;
    while (n < size - 1) {
        const int c = _getc();
        if (c == EOF) break;
        line[n++] = static_cast<char>(c);
        if (c == '\n') break;
    }
    line[n] = '\0';
    return n == 0 ? nullptr : line;
}

namespace {

/// What is read from now on, up to a '<' (which stays) or its end.
std::string text_up_to_tag(MIOFILE& from) {
    std::string text;
    for (int c = from._getc(); c > 0; c = from._getc()) {
        if (c == '<') {
            from._ungetc(c);
            break;
        }
        text += static_cast<char>(c);
    }
    return text;
}

/// Up to `mark`, which is read, too. False: it does not come.
bool read_up_to(MIOFILE& from, const std::string& mark, std::string& text) {
    text.clear();
    for (int c = from._getc(); c > 0; c = from._getc()) {
        text += static_cast<char>(c);
        if (text.size() >= mark.size() && text.compare(text.size() - mark.size(), mark.size(), mark) == 0) {
            text.resize(text.size() - mark.size());
            return true;
        }
    }
    return false;
}

/// Behind a '<'. False: the input ends.
bool read_tag(MIOFILE& from, std::string& tag, std::string& attributes, bool& is_comment) {
    is_comment = false;
    tag.clear();
    for (int c = from._getc(); c != '>'; c = from._getc()) {
        if (c <= 0 || tag.size() >= TAG_BUF_LEN - 1) return false;
        tag += static_cast<char>(c);
        if (tag == "!--") {
            is_comment = true;
            return read_up_to(from, "-->", tag);
        }
    }
    const std::size_t space = tag.find_first_of(" \t\r\n");
    const bool empty = tag.size() > 1 && tag.back() == '/';
    attributes = space == std::string::npos ? "" : tag.substr(space + 1, tag.size() - space - (empty ? 2 : 1));
    if (space != std::string::npos) tag = tag.substr(0, space) + (empty ? "/" : "");
    return true;
}

bool is_start_of(const XML_PARSER& xml, const char* tag) { return xml.is_tag && xml.match_tag(tag); }

/// The value of <tag> if that is the current one.
bool value_of(XML_PARSER& xml, const char* tag, std::string& value) {
    const std::string name = tag;
    if (is_start_of(xml, (name + "/").c_str())) {
        value.clear();
        return true;
    }
    if (!is_start_of(xml, tag) || !read_up_to(*xml.f, "</" + name + ">", value)) return false;
    strip_whitespace(value);
    if (value.compare(0, 9, "<![CDATA[") == 0 && ends_with(value, "]]>"))
        value = value.substr(9, value.size() - 12);
    else
        xml_unescape(value);
    return true;
}

template <typename T, typename Read>
bool number_of(XML_PARSER& xml, const char* tag, T& number, Read read) {
    std::string text;
    if (!value_of(xml, tag, text)) return false;
    char* end = nullptr;
    const auto found = read(text.c_str(), &end);
    if (end == text.c_str()) return false;
    number = static_cast<T>(found);
    return true;
}

}  // namespace

XML_PARSER::XML_PARSER(MIOFILE* from) : parsed_tag(), is_tag(false), f(from) {}

bool XML_PARSER::get_tag(char* attributes, int size) {
    for (;;) {
        const int c = f->_getc();
        if (c <= 0) return true;
        if (std::isspace(c) != 0) continue;
        std::string found, of_tag;
        bool is_comment = false;
        is_tag = c == '<';
        if (is_tag && !read_tag(*f, found, of_tag, is_comment)) return true;
        if (is_comment) continue;
        if (!is_tag) {
            found = static_cast<char>(c) + text_up_to_tag(*f);
            strip_whitespace(found);
        }
        strlcpy(parsed_tag, found.c_str(), sizeof parsed_tag);
        if (attributes != nullptr) strlcpy(attributes, of_tag.c_str(), static_cast<std::size_t>(size));
        return false;
    }
}

bool XML_PARSER::parse_start(const char* tag) {
    while (!get_tag())
        if (is_start_of(*this, tag)) return true;
    return false;
}

bool XML_PARSER::parse_string(const char* tag, std::string& value) { return value_of(*this, tag, value); }

bool XML_PARSER::parse_str(const char* tag, char* value, int size) {
    std::string text;
    if (!value_of(*this, tag, text)) return false;
    strlcpy(value, text.c_str(), static_cast<std::size_t>(size));
    return true;
}

bool XML_PARSER::parse_int(const char* tag, int& value) {
    return number_of(*this, tag, value, [](const char* t, char** e) { return std::strtol(t, e, 0); });
}
bool XML_PARSER::parse_long(const char* tag, long& value) {
    return number_of(*this, tag, value, [](const char* t, char** e) { return std::strtol(t, e, 0); });
}
bool XML_PARSER::parse_ulong(const char* tag, unsigned long& value) {
    return number_of(*this, tag, value, [](const char* t, char** e) { return std::strtoul(t, e, 0); });
}
bool XML_PARSER::parse_ulonglong(const char* tag, unsigned long long& value) {
    return number_of(*this, tag, value, [](const char* t, char** e) { return std::strtoull(t, e, 0); });
}
bool XML_PARSER::parse_double(const char* tag, double& value) {
    return number_of(*this, tag, value, [](const char* t, char** e) { return std::strtod(t, e); });
}

bool XML_PARSER::parse_bool(const char* tag, bool& value) {
    if (is_start_of(*this, (std::string(tag) + "/").c_str())) return value = true;
    int number = 0;
    if (!parse_int(tag, number)) return false;
    value = number != 0;
    return true;
}

int XML_PARSER::element_contents(const char* end_tag, char* value, int size) {
    std::string text;
    if (!read_up_to(*f, end_tag, text)) return ERR_XML_PARSE;
    strip_whitespace(text);
    return strlcpy(value, text.c_str(), static_cast<std::size_t>(size)) < static_cast<std::size_t>(size)
               ? 0
               : ERR_XML_PARSE;
}

void XML_PARSER::skip_unexpected(const char* tag, bool verbose, const char* where) {
    const std::string name = tag;
    if (verbose) std::fprintf(stderr, "%s: <%s> is not expected\n", where, tag);
    if (name.empty() || name.back() == '/' || name.front() == '/') return;
    while (!get_tag()) {
        if (!is_tag) continue;
        if (match_tag(("/" + name).c_str())) return;
        const std::string inner = parsed_tag;
        skip_unexpected(inner.c_str(), false, where);
    }
}

bool parse_str(const char* text, const char* tag, std::string& value) {
    const std::string name = tag, start = name.front() == '<' ? name : "<" + name + ">";
    const std::string end = "</" + start.substr(1);
    const char* from = std::strstr(text, start.c_str());
    if (from == nullptr) return false;
    from += start.size();
    const char* to = std::strstr(from, end.c_str());
    if (to == nullptr) return false;
    value.assign(from, to);
    strip_whitespace(value);
    xml_unescape(value);
    return true;
}

bool parse_str(const char* text, const char* tag, char* value, int size) {
    std::string found;
    if (!parse_str(text, tag, found)) return false;
    strlcpy(value, found.c_str(), static_cast<std::size_t>(size));
    return true;
}

bool parse_bool(const char* text, const char* tag, bool& value) {
    std::string found;
    if (std::strstr(text, ("<" + std::string(tag) + "/>").c_str()) != nullptr) return value = true;
    if (!parse_str(text, tag, found)) return false;
    value = std::atoi(found.c_str()) != 0;
    return true;
}

bool parse_int(const char* text, const char* tag, int& value) {
    const char* at = std::strstr(text, tag);
    if (at == nullptr) return false;
    value = static_cast<int>(std::strtol(at + std::strlen(tag), nullptr, 0));
    return true;
}

bool parse_double(const char* text, const char* tag, double& value) {
    const char* at = std::strstr(text, tag);
    if (at == nullptr) return false;
    value = std::strtod(at + std::strlen(tag), nullptr);
    return true;
}

void xml_escape(const char* text, char* escaped, int size) {
    std::string out;
    for (const char* c = text; *c != '\0'; ++c) {
        if (*c == '<')
            out += "&lt;";
        else if (*c == '&')
            out += "&amp;";
        else
            out += *c;
    }
    strlcpy(escaped, out.c_str(), static_cast<std::size_t>(size));
}

void xml_unescape(std::string& text) {
    static const struct {
        const char* coded;
        char plain;
    } kEntities[] = {{"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}, {"&amp;", '&'}};
    std::string out;
    for (std::size_t i = 0; i < text.size();) {
        bool found = false;
        for (const auto& entity : kEntities) {
            if (text.compare(i, std::strlen(entity.coded), entity.coded) != 0) continue;
            out += entity.plain;
            i += std::strlen(entity.coded);
            found = true;
            break;
        }
        if (!found && text.compare(i, 2, "&#") == 0) {
            char* end = nullptr;
            const long code = std::strtol(text.c_str() + i + 2, &end, 10);
            if (*end == ';' && code > 0 && code < 256) {
                out += static_cast<char>(code);
                i = static_cast<std::size_t>(end - text.c_str()) + 1;
                found = true;
            }
        }
        if (!found) out += text[i++];
    }
    text = out;
}

void xml_unescape(char* text) {
    std::string copy = text;
    xml_unescape(copy);
    std::memcpy(text, copy.c_str(), copy.size() + 1);
}
