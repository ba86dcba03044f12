// SPDX-License-Identifier: LGPL-3.0-or-later
// Linear by construction: every loop moves pos_ forward over the input. Nothing is scanned twice, except a bounded
// number of end tags that go to the element around them.
#include "sluice/xml/reader.h"

#include <algorithm>
#include <utility>

#include "sluice/base/text.h"

namespace sluice {
namespace {

constexpr std::size_t kMaxTagBytes = 4095;
/// Numbers are read through a buffer of this size upstream; a longer text is no number.
constexpr std::size_t kMaxNumberBytes = 255;
/// How many enclosing elements an end tag is compared with. No part of BOINC's protocol is nested deeper.
constexpr std::size_t kMaxEnclosing = 16;

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_name_start(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (static_cast<unsigned char>(c) & 0x80) != 0;
}

std::string_view without_leading_space(std::string_view s) {
    const auto first = std::find_if_not(s.begin(), s.end(), is_space);
    return s.substr(static_cast<std::size_t>(first - s.begin()));
}

/// Shortened to at most `max_bytes` without cutting through a UTF-8 character.
void cut_at_character(std::string& s, std::size_t max_bytes) {
    if (s.size() <= max_bytes) return;
    std::size_t end = max_bytes;
    // At most 3 continuation bytes; more of them in a row are not UTF-8, and any place is as good.
    for (int i = 0; i < 3 && end > 0 && (static_cast<unsigned char>(s[end]) & 0xC0) == 0x80; ++i) --end;
    if ((static_cast<unsigned char>(s[end]) & 0xC0) == 0x80) end = max_bytes;
    s.resize(end);
}

}  // namespace

XmlReader::XmlReader(std::string_view text) : input_(text.substr(0, text.find('\0'))) {}

XmlReader::Kind XmlReader::end_input() {
    pos_ = token_start_ = input_.size();
    name_ = text_ = {};
    return Kind::kEof;
}

/// Moves behind the next `mark`; false at the end of the input.
bool XmlReader::skip_past(std::string_view mark) {
    const auto at = input_.find(mark, pos_);
    if (at == std::string_view::npos) return false;
    pos_ = at + mark.size();
    return true;
}

bool XmlReader::looks_like_tag(std::size_t at) const {
    if (at + 1 >= input_.size()) return false;
    const char c = input_[at + 1];
    return is_name_start(c) || c == '/' || c == '!' || c == '?';
}

XmlReader::Kind XmlReader::next() {
    start_pending_ = false;
    while (pos_ < input_.size()) {
        token_start_ = pos_;
        const std::string_view rest = input_.substr(pos_);
        if (rest[0] != '<' || !looks_like_tag(pos_)) {
            if (read_text() == Kind::kText) return Kind::kText;
        } else if (rest.starts_with("<!--")) {
            pos_ += 4;
            if (!skip_past("-->")) break;
        } else if (rest.starts_with("<![CDATA[")) {
            return read_cdata();
        } else if (rest[1] == '!' || rest[1] == '?') {
            if (!skip_past(">")) break;
        } else {
            return read_tag();
        }
    }
    return end_input();
}

/// kText, or kEof for white space that nobody needs to see (pos_ is behind it).
XmlReader::Kind XmlReader::read_text() {
    std::size_t end = input_.find('<', pos_ + 1);  // what pos_ itself is at is text
    while (end != std::string_view::npos && !looks_like_tag(end)) end = input_.find('<', end + 1);
    end = std::min(end, input_.size());
    text_ = input_.substr(pos_, end - pos_);
    pos_ = end;
    cdata_ = false;
    return trim(text_).empty() ? Kind::kEof : Kind::kText;
}

XmlReader::Kind XmlReader::read_cdata() {
    pos_ += 9;
    const std::size_t start = pos_;
    if (!skip_past("]]>")) return end_input();
    text_ = input_.substr(start, pos_ - 3 - start);
    cdata_ = true;
    return Kind::kText;
}

XmlReader::Kind XmlReader::read_tag() {
    const std::string_view window = input_.substr(pos_ + 1, kMaxTagBytes + 1);
    const auto length = window.find('>');
    if (length == std::string_view::npos) return end_input();
    pos_ += length + 2;
    std::string_view tag = window.substr(0, length);
    const bool is_end = tag.starts_with('/');
    if (is_end) tag.remove_prefix(1);
    empty_ = !is_end && tag.ends_with('/');
    if (empty_) tag.remove_suffix(1);
    tag = without_leading_space(tag);
    const auto name_end = std::find_if(tag.begin(), tag.end(), is_space);
    const auto name_size = static_cast<std::size_t>(name_end - tag.begin());
    name_ = tag.substr(0, name_size);
    start_pending_ = !is_end;
    return is_end ? Kind::kEnd : Kind::kStart;
}

/// The index in open_ of the innermost open element of that name.
std::optional<std::size_t> XmlReader::enclosing(std::string_view name) const {
    const std::size_t lowest = open_.size() - std::min(open_.size(), kMaxEnclosing);
    for (std::size_t i = open_.size(); i > lowest; --i) {
        if (open_[i - 1] == name) return i - 1;
    }
    return std::nullopt;
}

/// Makes `parent` the innermost open element; false if its start tag, just read, says that it has no
/// children.
bool XmlReader::enter(std::string_view parent) {
    if (start_pending_ && name_ == parent) {
        start_pending_ = false;
        if (empty_) return false;
        open_.push_back(parent);
        return true;
    }
    // Loops inside it may have been left early: whatever is deeper is done.
    if (const auto at = enclosing(parent)) {
        open_.resize(*at + 1);
    } else {
        open_.push_back(parent);
    }
    return true;
}

bool XmlReader::next_child(std::string_view parent) {
    if (!enter(parent)) return false;
    for (;;) {
        const Kind kind = next();
        if (kind == Kind::kStart) return true;
        if (kind == Kind::kText) continue;
        if (kind == Kind::kEnd && name_ != parent) {
            if (!enclosing(name_)) continue;
            pos_ = token_start_;  // the parent never ended: this end tag belongs to an element around it
        }
        open_.pop_back();
        return false;
    }
}

void XmlReader::skip() {
    if (!start_pending_) return;
    start_pending_ = false;
    if (!empty_) consume_rest(name_);
}

/// Skips up to the end tag of the element `name`, whose start tag has been read, or up to the end tag of an
/// element around it, which stays to be read.
void XmlReader::consume_rest(std::string_view name) {
    std::size_t depth = 1;
    std::array<std::size_t, kMaxEnclosing> inner{};  // elements in here that bear the name of an enclosing one
    const std::size_t lowest = open_.size() - std::min(open_.size(), kMaxEnclosing);
    for (Kind kind = next(); kind != Kind::kEof; kind = next()) {
        if (kind == Kind::kText) continue;
        const bool starts = kind == Kind::kStart;
        if (starts && empty_) continue;
        if (name_ == name) {
            depth = starts ? depth + 1 : depth - 1;
            if (depth == 0) break;
        } else if (const auto at = enclosing(name_)) {
            std::size_t& count = inner[*at - lowest];
            if (!starts && count == 0) {
                pos_ = token_start_;
                break;
            }
            count = starts ? count + 1 : count - 1;
        }
    }
    start_pending_ = false;
}

/// The text directly inside the current element, decoded; its end tag is consumed. False if it is longer than
/// `max_bytes` or has children (with `cut`: shortened, children left out), or if the element never ends.
bool XmlReader::gather(std::string& out, std::size_t max_bytes, bool cut) {
    const std::string_view name = name_;
    const bool pending = std::exchange(start_pending_, false);
    if (!pending || empty_) return true;
    std::size_t raw_bytes = 0;
    std::string_view space;  // trailing so far: part of the text only if more follows
    bool good = true;
    for (Kind kind = next(); kind != Kind::kEof; kind = next()) {
        if (kind == Kind::kEnd && name_ == name) return good;
        if (kind == Kind::kEnd && enclosing(name_)) {
            pos_ = token_start_;
            return false;
        }
        if (kind == Kind::kStart) {
            good = good && cut;
            open_.push_back(name);  // a child that never ends stops at our end tag
            skip();
            open_.pop_back();
        }
        if (kind != Kind::kText) continue;
        raw_bytes += text_.size();
        if (raw_bytes > max_bytes && !cut) good = false;
        if (!good || out.size() > max_bytes) continue;
        const std::string_view piece = out.empty() ? without_leading_space(text_) : text_;
        const std::string_view solid = piece.substr(0, piece.find_last_not_of(" \t\n\v\f\r") + 1);
        if (solid.empty()) continue;
        out.append(space);
        out += cdata_ ? std::string(solid) : xml_unescape(solid);
        space = piece.substr(solid.size());
    }
    return false;
}

std::optional<std::string> XmlReader::text(std::size_t max_bytes) {
    std::string out;
    if (!gather(out, max_bytes, false)) return std::nullopt;
    return out;
}

std::string XmlReader::text_cut(std::size_t max_bytes) {
    std::string out;
    gather(out, max_bytes, true);
    cut_at_character(out, max_bytes);
    return out;
}

std::optional<std::int64_t> XmlReader::integer() {
    const bool has_text = start_pending_ && !empty_;
    const auto value = text(kMaxNumberBytes);
    return value && has_text ? parse_int(*value) : std::nullopt;
}

std::optional<double> XmlReader::number() {
    const bool has_text = start_pending_ && !empty_;
    const auto value = text(kMaxNumberBytes);
    return value && has_text ? parse_double(*value) : std::nullopt;
}

std::optional<bool> XmlReader::boolean() {
    if (start_pending_ && empty_) {
        start_pending_ = false;
        return true;
    }
    const auto value = integer();
    if (!value) return std::nullopt;
    return *value != 0;
}

std::optional<std::string_view> XmlReader::raw_to_end() {
    if (!start_pending_) return std::nullopt;
    if (empty_) {
        start_pending_ = false;
        return std::string_view();
    }
    const auto known = endless_.begin() + static_cast<std::ptrdiff_t>(n_endless_);
    if (std::find(endless_.begin(), known, name_) == known) {
        const std::size_t end = input_.find("</" + std::string(name_) + ">", pos_);
        if (end != std::string_view::npos) {
            start_pending_ = false;
            const std::string_view raw = input_.substr(pos_, end - pos_);
            pos_ = end + name_.size() + 3;
            return raw;
        }
        // Remembered: searching the rest of the input for it again and again would cost quadratic time.
        if (n_endless_ == endless_.size()) {
            end_input();
            return std::nullopt;
        }
        endless_[n_endless_++] = name_;
    }
    skip();
    return std::nullopt;
}

}  // namespace sluice
