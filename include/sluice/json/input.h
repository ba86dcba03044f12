// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// JSON that people write for our programs (scenarios, states, events), read field by field: every complaint names the
// place of what is wrong, as in "jobs[3].deadline". nlohmann/json does the parsing (in the .cpp).
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sluice/base/error.h"
#include "sluice/base/text.h"

namespace sluice::json {

/// The input is wrong; what() is "PLACE: what is wrong and what it should be", one line.
class InputError : public Error {
  public:
    InputError(const std::string& place, const std::string& what)
        : Error(in_one_line(place) + ": " + in_one_line(what, 1000)) {}
};

/// What a number may be. Both ends belong to it.
struct Range {
    double min = std::numeric_limits<double>::lowest();
    double max = std::numeric_limits<double>::max();
};
inline constexpr Range kNotNegative{0, std::numeric_limits<double>::max()};
inline constexpr Range kPositive{std::numeric_limits<double>::denorm_min(), std::numeric_limits<double>::max()};

/// An object of a document, and its place there. Cheap to copy; keeps the document alive. Every reader throws
/// InputError.
class Object {
  public:
    struct Node;  ///< the parser's, in the .cpp
    Object(std::shared_ptr<const Node> document, const void* value, std::string place);

    /// Refuses fields that are not in `known`, with the list of those that are.
    void only(std::initializer_list<std::string_view> known) const;
    bool has(std::string_view name) const;
    /// The names of all fields, as written.
    std::vector<std::string> names() const;

    /// Fields that must be there. Text is not empty.
    double number(std::string_view name, Range range = {}) const;
    std::int64_t whole(std::string_view name, std::int64_t min, std::int64_t max) const;
    std::string text(std::string_view name) const;
    bool boolean(std::string_view name) const;
    Object object(std::string_view name) const;
    std::vector<Object> objects(std::string_view name) const;
    std::vector<std::int64_t> wholes(std::string_view name, std::int64_t min, std::int64_t max) const;
    /// A number or a text, as JSON writes it: to be printed again as it came.
    std::string scalar(std::string_view name) const;

    /// "jobs[3]"; of the whole document "input". place("x") is that of its field x.
    const std::string& place() const { return place_; }
    std::string place(std::string_view field) const;

  private:
    const void* field(std::string_view name) const;

    std::shared_ptr<const Node> document_;
    const void* value_;
    std::string place_;
};

/// `text` must be one JSON object without doubled fields; `name` stands in complaints about its syntax.
/// At most 64 levels deep.
Object parse(const std::string& text, const std::string& name);
/// The file's content; "-" is standard input. Throws FileError, InputError (more than 256 MB).
std::string text_of(const std::string& file);
/// text_of, parsed.
Object parse_file(const std::string& file);

}  // namespace sluice::json
