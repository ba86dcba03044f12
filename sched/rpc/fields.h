// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Reading scalar elements by table: one row per element, {name, where it goes, longest text}. The tables stand at the
// top of each parser and are the list of what is understood.
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "sluice/xml/reader.h"

namespace sluice::rpc {

/// Numbers of a request are forced into ±kMaxNumber: no host has an exabyte or an exaflop. Sums and products of such
/// numbers stay finite, so no NaN or infinity reaches a SQL text.
inline constexpr double kMaxNumber = 1e18;
/// Nobody asks for more: seconds of work, instances of a resource (more CPUs than any host that upstream counts).
inline constexpr double kMaxRequestSeconds = 28 * 86400.0, kMaxRequestInstances = 4096;
/// Longest text of a column varchar(254).
inline constexpr std::size_t kColumnText = 254;
/// Upstream's usual array of 256 bytes.
inline constexpr std::size_t kShortText = 255;

/// What happens to a text that is longer than allowed.
enum class TooLong {
    kDrop,  ///< as upstream: the element counts as absent. For names and keys: a cut one would be another one
    kCut    ///< the beginning is kept. For descriptions
};

template <typename T>
struct Field {
    std::string_view name;
    std::variant<double T::*, int T::*, std::int64_t T::*, bool T::*, std::string T::*> member;
    std::size_t max_text = kShortText;
    TooLong too_long = TooLong::kDrop;
};

// Each takes the element whose start tag was just read; what does not convert leaves `out` as it was.
void read_number(XmlReader& xml, double& out);  ///< NaN and infinities: 0
void read_int(XmlReader& xml, int& out);        ///< forced into 32 bits; "2.000000" is 2
void read_int64(XmlReader& xml, std::int64_t& out);
void read_bool(XmlReader& xml, bool& out);
void read_text(XmlReader& xml, std::string& out, std::size_t max_bytes, TooLong too_long = TooLong::kDrop);

/// True if `object` has a field named like the element whose start tag was just read; it is read then.
template <typename T, std::size_t N>
bool read_field(XmlReader& xml, T& object, const Field<T> (&table)[N]) {
    for (const Field<T>& field : table) {
        if (field.name != xml.name()) continue;
        if (auto* d = std::get_if<double T::*>(&field.member)) read_number(xml, object.**d);
        if (auto* i = std::get_if<int T::*>(&field.member)) read_int(xml, object.**i);
        if (auto* l = std::get_if<std::int64_t T::*>(&field.member)) read_int64(xml, object.**l);
        if (auto* b = std::get_if<bool T::*>(&field.member)) read_bool(xml, object.**b);
        if (auto* s = std::get_if<std::string T::*>(&field.member))
            read_text(xml, object.**s, field.max_text, field.too_long);
        return true;
    }
    return false;
}

/// The bytes of a text as valid UTF-8. Other bytes are taken as Latin-1, which old clients send; a utf8 column in
/// strict mode would refuse them.
std::string to_utf8(std::string_view bytes);
/// At most `max_bytes`, not within a UTF-8 sequence.
std::string_view cut_utf8(std::string_view text, std::size_t max_bytes);

}  // namespace sluice::rpc
