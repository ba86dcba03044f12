// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A tolerant pull reader for BOINC's XML dialect (upstream behaviour): not well-formed in general,
// so a strict parser can't read it. Works in place on a buffer that outlives it, allocates nothing per tag,
// never recurses (nesting costs no stack), and every loop is bounded by the input.
//
// Rules: attributes on elements are skipped; comments, <?…?> and <!…> skipped; CDATA is text, not decoded; a
// NUL byte ends the input; tags longer than 4095 bytes end the input; unknown elements are skipped to their
// matching end tag, an element that never ends is skipped to the end of its parent, never past it. A '<' that
// no letter, '_', '/',
// '!' or '?' follows is text.
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

class XmlReader {
  public:
    explicit XmlReader(std::string_view text);

    enum class Kind {
        kStart,  ///< <tag> or <tag/> : name(), empty_element()
        kEnd,    ///< </tag> : name()
        kText,   ///< text between tags, not only white space : raw_text()
        kEof
    };
    Kind next();
    std::string_view name() const { return name_; }
    bool empty_element() const { return empty_; }
    std::string_view raw_text() const { return text_; }
    /// Byte offset just behind the current token.
    std::size_t position() const { return pos_; }

    /// Call on kStart for loops over children: true and positioned on the next child's start tag; false once
    /// the end tag of `parent` was read, or at the end of the input, or before the end tag of an element
    /// around it. Text and stray end tags in between are skipped. A child that bears its parent's name has to
    /// be read or skipped before the next call. `parent` is kept: a literal, or a view that lives as long as
    /// the loop.
    bool next_child(std::string_view parent);
    /// Skips the element whose start tag was just read, children and all.
    void skip();

    // Values of the element whose start tag was just read; its end tag is consumed too.
    /// Trimmed, entities decoded; nullopt if longer than `max_bytes` (white space counted, upstream's array
    /// size - 1).
    std::optional<std::string> text(std::size_t max_bytes);
    /// The same, but an over-long text is cut instead of refused (at a UTF-8 boundary).
    std::string text_cut(std::size_t max_bytes);
    std::optional<std::int64_t> integer();
    std::optional<double> number();
    /// <x/> true; <x>N</x> N != 0; <x></x> false.
    std::optional<bool> boolean();
    /// All bytes up to the literal </name>, not decoded; nullopt if the end tag is missing (the element is
    /// skipped then). Cost is linear, whatever is missing how often.
    std::optional<std::string_view> raw_to_end();

  private:
    Kind read_tag();
    Kind read_cdata();
    Kind read_text();
    Kind end_input();
    bool skip_past(std::string_view mark);
    bool looks_like_tag(std::size_t at) const;
    bool enter(std::string_view parent);
    std::optional<std::size_t> enclosing(std::string_view name) const;
    void consume_rest(std::string_view name);
    bool gather(std::string& out, std::size_t max_bytes, bool cut);

    std::string_view input_;
    std::size_t pos_ = 0, token_start_ = 0;
    std::string_view name_, text_;
    bool empty_ = false, cdata_ = false;
    bool start_pending_ = false;                 ///< the current token is a start tag that nobody has consumed yet
    std::vector<std::string_view> open_;         ///< elements whose children are being read, outermost first
    std::array<std::string_view, 8> endless_{};  ///< names whose literal end tag is known not to come any more
    std::size_t n_endless_ = 0;
};

/// The text of the first <tag>…</tag> anywhere in `xml` (upstream's substring search for preferences),
/// trimmed.
std::optional<std::string_view> find_element(std::string_view xml, std::string_view tag);
/// The number that text starts with ("50 GB" is 50, an empty one 0); nullopt if there is none or it is not
/// finite.
std::optional<double> find_number(std::string_view xml, std::string_view tag);

}  // namespace sluice
