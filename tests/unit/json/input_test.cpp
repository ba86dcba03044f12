// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/json/input.h"

#include <functional>

namespace sluice::json {
namespace {

/// What is said of `text` when `read` is done with it; empty: nothing.
template <typename Read>
std::string complaint(const std::string& text, Read read) {
    try {
        read(parse(text, "file"));
        return "";
    } catch (const InputError& e) {
        return e.what();
    }
}

TEST(JsonInput, ReadsWhatIsThere) {
    const Object o = parse(R"({"a": 1.5, "n": 3, "t": "x", "b": true, "o": {"i": -7}, "l": [{"k": "q"}, {}]})", "file");
    EXPECT_EQ(o.number("a"), 1.5);
    EXPECT_EQ(o.whole("n", 0, 10), 3);
    EXPECT_EQ(o.text("t"), "x");
    EXPECT_TRUE(o.boolean("b"));
    EXPECT_EQ(o.object("o").number("i"), -7);
    ASSERT_EQ(o.objects("l").size(), 2u);
    EXPECT_EQ(o.objects("l")[0].text("k"), "q");
    EXPECT_EQ(o.objects("l")[1].place("k"), "l[1].k");
    EXPECT_EQ(o.scalar("t"), "\"x\"");
    EXPECT_EQ(o.scalar("n"), "3");
    EXPECT_EQ(o.names(), (std::vector<std::string>{"a", "n", "t", "b", "o", "l"}));
}

TEST(JsonInput, ComplaintsNameThePlace) {
    struct Case {
        const char* text;
        std::function<void(const Object&)> read;
        const char* says;
    };
    const Case cases[] = {
        {R"({"l": [{}, {"x": "1"}]})", [](const Object& o) { o.objects("l")[1].number("x"); },
         "l[1].x: must be a number, not text"},
        {R"({"l": [1]})", [](const Object& o) { o.objects("l"); }, "l[0]: must be an object, not number"},
        {R"({"l": {}})", [](const Object& o) { o.objects("l"); }, "l: must be a list, not object"},
        {"{}", [](const Object& o) { o.number("x"); }, "x: is missing"},
        {R"({"x": -1})", [](const Object& o) { o.number("x", kNotNegative); }, "x: -1 must not be negative"},
        {R"({"x": 0})", [](const Object& o) { o.number("x", kPositive); }, "x: 0 must be more than 0"},
        {R"({"x": 1.5})", [](const Object& o) { o.whole("x", 0, 9); }, "x: 1.5 must be a whole number"},
        {R"({"x": 10})", [](const Object& o) { o.whole("x", 0, 9); }, "x: 10 must be at most 9"},
        {R"({"x": null})", [](const Object& o) { o.number("x"); }, "x: must be a number, not null"},
        {R"({"x": ""})", [](const Object& o) { o.text("x"); }, "x: must not be empty"},
        {R"({"o": {"y": 1}})",
         [](const Object& o) {
             o.object("o").only({"x", "z"});
         },
         "o.y: unknown field (known here: x, z)"},
        {R"({"x": 1, "x": 2})", [](const Object&) {}, "x: stands twice in one object"},
        {R"({"a": [1, {}, [2, {"b": 1}], {"x": 1, "c": {"y": [], "z": {"y": 0}, "y": 2}}]})", [](const Object&) {},
         "a[3].c.y: stands twice in one object"},
        {"[1]", [](const Object&) {}, "file: must be a JSON object, not array"},
    };
    for (const Case& c : cases) EXPECT_EQ(complaint(c.text, c.read), c.says) << c.text;
}

TEST(JsonInput, SyntaxErrorsAreOneLine) {
    for (const char* text : {"", "{", R"({"x": NaN})", R"({"x": 1e999})", "{\"x\": \"\xff\"}", R"({"x": 1} y)"}) {
        const std::string said = complaint(text, [](const Object&) {});
        EXPECT_TRUE(said.starts_with("file: is not JSON: ")) << said;
        EXPECT_EQ(said.find('\n'), std::string::npos) << said;
    }
}

TEST(JsonInput, DepthIsBounded) {
    std::string text;
    for (int i = 0; i < 100000; ++i) text += "{\"a\":";
    EXPECT_EQ(complaint(text, [](const Object&) {}), "input: is nested more than 64 levels deep");
}

}  // namespace
}  // namespace sluice::json
