// SPDX-License-Identifier: LGPL-3.0-or-later
// Hostile input: the reader ends, moves forward only, and its cost grows with the length, not with its
// square.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>

#include "sluice/xml/reader.h"
#include "tests/support/fixed_rng.h"

namespace sluice {
namespace {

using Kind = XmlReader::Kind;

/// Random bytes, or random pieces of the dialect, which get much further into the reader.
std::string random_input(Rng& rng) {
    static const char* const kPieces[] = {"<a>",  "</a>", "<b>",       "</b>", "<r>",  "</r>",       "<a/>",
                                          "<!--", "-->",  "<![CDATA[", "]]>",  "<?x",  "?>",         "&lt;",
                                          "&#",   "1",    " ",         "\n",   "<",    ">",          "/",
                                          "text", "<s>",  "</s>",      "\xff", "<r/>", "<a x=\"1\">"};
    std::string out;
    const auto n = rng.below(60);
    const bool bytes = rng.below(4) == 0;
    for (std::uint64_t i = 0; i < n; ++i) {
        if (bytes) {
            out += static_cast<char>(rng.below(256));
        } else {
            out += kPieces[rng.below(std::size(kPieces))];
        }
    }
    return out;
}

/// One random call; false at the end of the input.
bool random_step(XmlReader& reader, Rng& rng) {
    static const char* const kNames[] = {"r", "a", "b", "s"};
    switch (rng.below(9)) {
        case 0: return reader.next() != Kind::kEof;
        case 1: reader.skip(); return true;
        case 2: reader.text(rng.below(10)); return true;
        case 3: {
            const auto max = rng.below(10);
            EXPECT_LE(reader.text_cut(max).size(), max);
            return true;
        }
        case 4: reader.integer(); return true;
        case 5: reader.number(); return true;
        case 6: reader.boolean(); return true;
        case 7: reader.raw_to_end(); return true;
        default: return reader.next_child(kNames[rng.below(4)]) || reader.next() != Kind::kEof;
    }
}

TEST(XmlReaderProperty, RandomCallsOnlyMoveForward) {
    for (std::uint64_t seed = 0; seed < 20000; ++seed) {
        test::FixedRng rng(seed);
        const std::string input = random_input(rng);
        XmlReader reader(input);
        std::size_t last = 0;
        int steps = 0;
        while (random_step(reader, rng)) {
            ASSERT_GE(reader.position(), last) << "seed " << seed;
            last = reader.position();
            // Calls that consume nothing are allowed; next() comes up often enough to get through.
            ASSERT_LT(++steps, 20000) << "seed " << seed;
        }
        ASSERT_LE(reader.position(), input.size());
    }
}

/// The usual loop of a parser that knows nothing but <r>.
void read_as_unknown(std::string_view input) {
    XmlReader reader(input);
    while (reader.next() != Kind::kEof) {
        while (reader.next_child("r")) reader.skip();
    }
}

/// A parser that reads every element's value, and the raw ones raw.
void read_as_values(std::string_view input) {
    XmlReader reader(input);
    while (reader.next() != Kind::kEof) {
        while (reader.next_child("r")) {
            if (reader.name() == "s") {
                reader.raw_to_end();
            } else {
                reader.text_cut(100);
            }
        }
    }
}

std::string repeated(std::string_view piece, std::size_t bytes) {
    std::string out;
    out.reserve(bytes + piece.size());
    while (out.size() < bytes) out += piece;
    return out;
}

double seconds(const std::function<void()>& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

TEST(XmlReaderProperty, RepeatedGarbageOfAnyKindCostsLinearTime) {
    // A million pieces: any rule that scans the rest of the input for each would take many minutes.
    const char* const pieces[] = {"<a>", "</a>",    "<r>",        "</r>",       "<",       "<!--", "<![CDATA[",
                                  "&",   "&#",      "x",          "<s>",        "<r><s>",  "</r",  "<a/>",
                                  "<!",  "<r></a>", "<r><a></r>", "<r><s></r>", "<a></s>", "]]>"};
    constexpr std::size_t kBytes = 4'000'000;
    for (const char* piece : pieces) {
        const std::string input = "<r>" + repeated(piece, kBytes);
        EXPECT_LT(seconds([&] { read_as_unknown(input); }), 20) << piece;
        EXPECT_LT(seconds([&] { read_as_values(input); }), 20) << piece;
    }
}

TEST(XmlReaderProperty, FiftyMegabytesOfRandomBytes) {
    test::FixedRng rng(50);
    std::string input = "<r>";
    while (input.size() < 50'000'000) {
        std::uint64_t bits = rng.next() | 0x0101010101010101;  // no NUL byte: that would end the input
        input.append(reinterpret_cast<const char*>(&bits), sizeof bits);
    }
    EXPECT_LT(seconds([&] { read_as_unknown(input); }), 20);
}

TEST(XmlReaderProperty, ManyDifferentRawElementsWithoutEndStayLinear) {
    std::string input = "<r>";
    for (int i = 0; i < 200'000; ++i) input += "<p><t" + std::to_string(i % 50) + "></p>";
    const auto work = [&] {
        XmlReader reader(input);
        reader.next();
        while (reader.next_child("r")) {
            while (reader.next_child("p")) reader.raw_to_end();
        }
    };
    EXPECT_LT(seconds(work), 20);
}

TEST(XmlReaderProperty, HundredThousandNestedTagsCostNoStack) {
    const std::string input =
        "<r>" + repeated("<unknown>", 900'000) + repeated("</unknown>", 1'000'000) + "<b>7</b></r>";
    XmlReader reader(input);
    reader.next();
    ASSERT_TRUE(reader.next_child("r"));
    reader.skip();
    ASSERT_TRUE(reader.next_child("r"));
    EXPECT_EQ(reader.integer(), 7);
}

TEST(XmlReaderProperty, DeepNestingReadByNextChildStaysLinear) {
    const std::string input = repeated("<r><q>", 3'000'000);
    XmlReader reader(input);
    reader.next();
    const auto work = [&] {
        for (int i = 0; reader.next_child(i % 2 == 0 ? "r" : "q"); ++i) {
        }
        while (reader.next() != Kind::kEof) {
        }
    };
    EXPECT_LT(seconds(work), 20);
    EXPECT_EQ(reader.position(), input.size());
}

}  // namespace
}  // namespace sluice
