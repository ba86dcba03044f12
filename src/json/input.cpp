// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/json/input.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "sluice/base/files.h"

namespace sluice::json {
namespace {

using Json = nlohmann::ordered_json;
constexpr int kMaxDepth = 64;
constexpr std::size_t kMaxBytes = std::size_t{256} << 20;

const Json& json_of(const void* value) { return *static_cast<const Json*>(value); }

/// "a number", "text" …: what stands there instead of what was wanted.
std::string kind_of(const Json& v) {
    if (v.is_string()) return "text";
    if (v.is_boolean()) return "true or false";
    return v.type_name();
}

std::string shown(double v) {
    std::ostringstream out;
    out.precision(10);
    out << v;
    return out.str();
}

/// nlohmann/json takes the last of two equal names; a person who wrote both meant something else.
class DoubledNames {
  public:
    bool operator()(int depth, Json::parse_event_t event, Json& parsed) {
        using Event = Json::parse_event_t;
        if (depth > kMaxDepth) throw InputError("input", "is nested more than 64 levels deep");
        if (event == Event::object_start || event == Event::array_start)
            open_.push_back({event == Event::array_start, 0, {}, {}});
        if (event == Event::object_end || event == Event::array_end) open_.pop_back();
        if (event == Event::key) {
            open_.back().name = parsed.get<std::string>();
            if (!open_.back().names.insert(open_.back().name).second)
                throw InputError(place(), "stands twice in one object");
        }
        // An element of a list is over.
        if (event != Event::key && event != Event::object_start && event != Event::array_start && !open_.empty())
            ++open_.back().index;
        return true;
    }

  private:
    struct Level {
        bool list;
        std::size_t index;  ///< of the element that is read
        std::string name;   ///< of the field that is read
        std::set<std::string> names;
    };
    /// As Object::place() names it.
    std::string place() const {
        std::string text;
        for (const Level& level : open_) {
            if (level.list) {
                text += "[" + std::to_string(level.index) + "]";
            } else {
                text += (text.empty() ? "" : ".") + level.name;
            }
        }
        return text;
    }
    std::vector<Level> open_;
};

/// The place that the parser complains of, without its own way of naming its exceptions.
std::string syntax_complaint(const nlohmann::json::exception& e) {
    const std::string text = e.what();
    const auto start = text.find("] ");
    return "is not JSON: " + (start == std::string::npos ? text : text.substr(start + 2));
}

std::string all_of(FILE* in) {
    std::string text;
    char block[65536];
    while (const std::size_t n = std::fread(block, 1, sizeof block, in)) {
        text.append(block, n);
        if (text.size() > kMaxBytes) throw InputError("standard input", "is larger than 256 MB");
    }
    return text;
}

}  // namespace

struct Object::Node {  // NOLINT(bugprone-exception-escape): ordered_json has moves that are not noexcept
    Json root;
};

Object::Object(std::shared_ptr<const Node> document, const void* value, std::string place)
    : document_(std::move(document)), value_(value), place_(std::move(place)) {}

std::string Object::place(std::string_view field) const {
    return place_ == "input" ? std::string(field) : place_ + "." + std::string(field);
}

bool Object::has(std::string_view name) const { return json_of(value_).contains(std::string(name)); }

std::vector<std::string> Object::names() const {
    std::vector<std::string> names;
    for (const auto& [name, value] : json_of(value_).items()) names.push_back(name);
    return names;
}

void Object::only(std::initializer_list<std::string_view> known) const {
    for (const std::string& name : names()) {
        if (std::find(known.begin(), known.end(), name) != known.end()) continue;
        std::string list;
        for (const std::string_view k : known) list += (list.empty() ? "" : ", ") + std::string(k);
        throw InputError(place(name), "unknown field (known here: " + list + ")");
    }
}

const void* Object::field(std::string_view name) const {
    const Json& object = json_of(value_);
    const auto found = object.find(std::string(name));
    if (found == object.end()) throw InputError(place(name), "is missing");
    return &*found;
}

double Object::number(std::string_view name, Range range) const {
    const Json& v = json_of(field(name));
    if (!v.is_number()) throw InputError(place(name), "must be a number, not " + kind_of(v));
    const double d = v.get<double>();
    if (!std::isfinite(d)) throw InputError(place(name), "must be a finite number");
    if (d < range.min && range.min == kPositive.min) throw InputError(place(name), shown(d) + " must be more than 0");
    if (d < range.min && range.min == 0) throw InputError(place(name), shown(d) + " must not be negative");
    if (d < range.min) throw InputError(place(name), shown(d) + " must be at least " + shown(range.min));
    if (d > range.max) throw InputError(place(name), shown(d) + " must be at most " + shown(range.max));
    return d;
}

std::int64_t Object::whole(std::string_view name, std::int64_t min, std::int64_t max) const {
    const double d = number(name, {static_cast<double>(min), static_cast<double>(max)});
    if (d != std::floor(d)) throw InputError(place(name), shown(d) + " must be a whole number");
    return static_cast<std::int64_t>(d);
}

std::string Object::text(std::string_view name) const {
    const Json& v = json_of(field(name));
    if (!v.is_string()) throw InputError(place(name), "must be text, not " + kind_of(v));
    if (v.get_ref<const std::string&>().empty()) throw InputError(place(name), "must not be empty");
    return v.get<std::string>();
}

bool Object::boolean(std::string_view name) const {
    const Json& v = json_of(field(name));
    if (!v.is_boolean()) throw InputError(place(name), "must be true or false, not " + kind_of(v));
    return v.get<bool>();
}

Object Object::object(std::string_view name) const {
    const void* v = field(name);
    if (!json_of(v).is_object()) throw InputError(place(name), "must be an object, not " + kind_of(json_of(v)));
    return {document_, v, place(name)};
}

std::vector<Object> Object::objects(std::string_view name) const {
    const Json& list = json_of(field(name));
    if (!list.is_array()) throw InputError(place(name), "must be a list, not " + kind_of(list));
    std::vector<Object> objects;
    objects.reserve(list.size());
    for (const Json& v : list) {
        const std::string here = place(name) + "[" + std::to_string(objects.size()) + "]";
        if (!v.is_object()) throw InputError(here, "must be an object, not " + kind_of(v));
        objects.emplace_back(document_, &v, here);
    }
    return objects;
}

std::vector<std::int64_t> Object::wholes(std::string_view name, std::int64_t min, std::int64_t max) const {
    const Json& list = json_of(field(name));
    if (!list.is_array()) throw InputError(place(name), "must be a list, not " + kind_of(list));
    std::vector<std::int64_t> wholes;
    for (const Json& v : list) {
        const std::string here = place(name) + "[" + std::to_string(wholes.size()) + "]";
        if (!v.is_number_integer()) throw InputError(here, "must be a whole number");
        const double d = v.get<double>();
        if (d < static_cast<double>(min) || d > static_cast<double>(max))
            throw InputError(here, shown(d) + " must be from " + std::to_string(min) + " to " + std::to_string(max));
        wholes.push_back(v.get<std::int64_t>());
    }
    return wholes;
}

std::string Object::scalar(std::string_view name) const {
    const Json& v = json_of(field(name));
    if (!v.is_string() && !v.is_number()) throw InputError(place(name), "must be a number or text, not " + kind_of(v));
    return v.dump();
}

Object parse(const std::string& text, const std::string& name) {
    auto document = std::make_shared<Object::Node>();
    try {
        document->root = Json::parse(text, DoubledNames());
    } catch (const nlohmann::json::exception& e) {
        throw InputError(name, syntax_complaint(e));
    }
    if (!document->root.is_object()) throw InputError(name, "must be a JSON object, not " + kind_of(document->root));
    const void* root = &document->root;
    return {std::move(document), root, "input"};
}

std::string text_of(const std::string& file) {
    if (file == "-") return all_of(stdin);
    auto text = read_file(file, kMaxBytes);
    if (!text) throw FileError(file + ": there is no such file");
    return std::move(*text);
}

Object parse_file(const std::string& file) { return parse(text_of(file), file == "-" ? "standard input" : file); }

}  // namespace sluice::json
