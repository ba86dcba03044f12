// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/share/events.h"

namespace sluice {
namespace {

std::string after(const std::string& text) {
    try {
        return tags_after_events(json::parse(text, "file"));
    } catch (const json::InputError& e) {
        return e.what();
    }
}

std::string seed(const std::string& events) {
    return after(R"({"rule": "seed", "clamp": 0, "events": [)" + events + "]}");
}

TEST(ShareEvents, PrintsTagsAndOrderAfterEachEvent) {
    const json::Object result =
        json::parse(seed(R"({"t": 0, "user": "ann", "quota": 1}, {"t": 0, "user": "bob", "quota": 1},
                {"t": 10, "user": "ann", "submit": {"batch": "long", "seconds": 100}},
                {"t": 20, "user": "bob", "submit": {"batch": "short", "seconds": 5}},
                {"t": 30, "user": "ann", "submit": {"batch": "own", "seconds": 2}},
                {"t": 31, "user": "ann", "move": {"batch": "own", "before": "long"}},
                {"t": 40, "user": "bob", "done": {"batch": "short", "seconds": 6}})"),
                    "result");
    const auto steps = result.objects("after");
    ASSERT_EQ(steps.size(), 7u);
    EXPECT_EQ(steps[2].object("let").number("long"), 110);
    EXPECT_EQ(steps[2].object("lst").number("ann"), 210);
    EXPECT_EQ(steps[3].object("let").number("short"), 25);
    EXPECT_EQ(steps[5].object("lst_start").number("own"), 10);
    EXPECT_EQ(steps[5].object("let").number("own"), 12);
    EXPECT_EQ(steps[5].object("let").number("long"), 114);
    EXPECT_EQ(steps[5].object("lst").number("ann"), 214);
    const std::string text =
        seed(R"({"t": 0, "user": "a", "quota": 1}, {"t": 0, "user": "a", "submit": {"batch": "b", "seconds": 1}})");
    EXPECT_NE(text.find("\"order\": [\n        \"b\"\n      ]"), std::string::npos) << text;
}

TEST(ShareEvents, WrongEventsAreNamedByTheirPlace) {
    const std::string ann = R"({"t": 5, "user": "ann", "quota": 1})";
    const std::pair<std::string, std::string> cases[] = {
        {R"({"t": 0, "user": "ann", "quota": 0})", "events[0]: a quota must be more than 0"},
        {R"({"t": 0, "user": "ann", "quota": -3})", "events[0]: a quota must be more than 0"},
        {R"({"t": 0, "user": "ann", "submit": {"batch": "b", "seconds": 1}})",
         "events[0]: the user has no quota: set one first"},
        {ann + R"(, {"t": 4, "user": "ann", "quota": 1})", "events[1].t: is before the event in front of it"},
        {ann + R"(, {"t": 5, "user": "ann"})", "events[1]: has exactly one of quota, submit, move, done, leave"},
        {ann + R"(, {"t": 5, "user": "ann", "submit": {"batch": "b", "seconds": 0}})",
         "events[1]: a batch's seconds must be more than 0"},
        {ann + R"(, {"t": 5, "user": "ann", "done": {"batch": "b", "seconds": 1}})",
         "events[1]: there is no such batch"},
        {ann + R"(, {"t": 5, "user": "ann", "submit": {"batch": "b", "second": 1}})",
         "events[1].submit.second: unknown field (known here: batch, seconds)"},
        {ann + R"(, {"t": 5, "user": "ann", "submit": {"batch": "b", "seconds": 1e308}})",
         "events[1].submit.seconds: 1e+308 must be at most 1e+12"},
        {R"({"t": 1e300, "user": "ann", "quota": 1})", "events[0].t: 1e+300 must be at most 1e+12"},
        {ann + R"(, {"t": 5, "user": "ann", "leave": false})", "events[1].leave: must be true"},
    };
    const auto absurd =
        json::parse(seed(R"({"t": 0, "user": "a", "quota": 1e-300}, {"t": 0, "user": "z", "quota": 1e300},
                {"t": 0, "user": "a", "submit": {"batch": "b", "seconds": 1e10}})"),
                    "tags");
    EXPECT_NEAR(absurd.objects("after")[2].object("lst").number("a"), 1e25, 1e15);
    for (const auto& [events, says] : cases) EXPECT_EQ(seed(events), says) << events;
    EXPECT_EQ(after(R"({"rule": "fair", "events": []})"), "rule: must be \"seed\" or \"settled\"");
    EXPECT_EQ(after(R"({"clamp": -1, "events": []})"), "clamp: -1 must not be negative");
    EXPECT_EQ(after(R"({"clamp": 1e308, "events": []})"), "clamp: 1e+308 must be at most 1e+12");
    // Each round somebody's distance grows a millionfold: the other's quota goes up and down between his two.
    std::string rounds = R"({"t": 0, "user": "a", "quota": 1}, {"t": 0, "user": "z", "quota": 1},
        {"t": 0, "user": "z", "submit": {"batch": "y", "seconds": 1}}, {"t": 0, "user": "a", "submit": {"batch": "b", "seconds": 1e12}})";
    for (int i = 0; i < 70; ++i)
        rounds += R"(, {"t": 0, "user": "a", "quota": 1e-6}, {"t": 0, "user": "z", "quota": 1e9},
            {"t": 0, "user": "a", "quota": 1}, {"t": 0, "user": "z", "quota": 1e-6})";
    EXPECT_THAT(after(R"({"rule": "settled", "events": [)" + rounds + "]}").substr(0, 200),
                testing::ContainsRegex("^events.[0-9]+.: tags grow beyond all numbers"));
}

}  // namespace
}  // namespace sluice
