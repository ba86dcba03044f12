#pragma once
// A tolerant pull reader for BOINC's XML dialect (facts/protocol-request.md §0): not well-formed in general, so a
// strict parser can't read it. Works in place on a buffer that outlives it, allocates nothing per tag, never
// recurses (nesting costs no stack), and every loop is bounded by the input.
//
// Rules: attributes on elements are skipped; comments, <?…?> and <!…> skipped; CDATA is text, not decoded; a NUL
// byte ends the input; tags longer than 4095 bytes end the input; unknown elements are skipped to their matching end
// tag, an element that never ends is skipped to the end of its parent, never past it.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

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
    /// The attributes of the current start tag, raw ("priority=\"low\"").
    std::string_view attributes() const { return attributes_; }

    /// Call on kStart for loops over children: true and positioned on the next child's start tag; false once the
    /// end tag of `parent` was read, or at the end of the input. Text and stray end tags in between are skipped.
    bool next_child(std::string_view parent);
    /// Skips the element whose start tag was just read, children and all.
    void skip();

    // Values of the element whose start tag was just read; its end tag is consumed too.
    /// Trimmed, entities decoded; nullopt if longer than `max_bytes` (white space counted, upstream's array size - 1).
    std::optional<std::string> text(std::size_t max_bytes);
    /// The same, but an over-long text is cut instead of refused (at a UTF-8 boundary).
    std::string text_cut(std::size_t max_bytes);
    std::optional<std::int64_t> integer();
    std::optional<double> number();
    /// <x/> true; <x>N</x> N != 0; <x></x> false.
    std::optional<bool> boolean();
    /// All bytes up to the literal </name>, not decoded; nullopt if the end tag is missing. Cost is linear.
    std::optional<std::string_view> raw_to_end();

  private:
    std::string_view input_;
    std::size_t pos_ = 0;
    std::string_view name_, text_, attributes_;
    bool empty_ = false;
};

/// The text of the first <tag>…</tag> anywhere in `xml` (upstream's substring search for preferences), trimmed.
std::optional<std::string_view> find_element(std::string_view xml, std::string_view tag);
std::optional<double> find_number(std::string_view xml, std::string_view tag);

}  // namespace sluice
