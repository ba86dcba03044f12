// SPDX-License-Identifier: LGPL-3.0-or-later
// What `sluice_batch why` says of a batch's place, plan and hosts.
#include "daemons/batch/why_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/json/input.h"

namespace sluice {
namespace {

using testing::HasSubstr;

constexpr double kAskedAt = 1793348400;

BatchAnswer a_question(BatchState state = BatchState::kInProgress, int jobs = 200) {
    BatchAnswer w;
    w.view.batch.row.id = 12;
    w.view.batch.row.user_id = 3;
    w.view.batch.row.state = state;
    w.view.batch.row.name = "tiles";
    w.view.progress = {12, jobs, jobs / 4, 0, 0};
    w.view.now = kAskedAt;
    w.order = {true, 1, OrderFacts::Place{2, 5, kAskedAt + 100, 7200, 7}};
    w.plan.plan_batches = true;
    w.plan.plan.version = 4;
    w.plan.plan.made_at = kAskedAt - 20;
    w.plan.plan.newest_batch = 20;
    return w;
}

TEST(BatchWhy, APlannedBatchHasPlacePlanAndEta) {
    BatchAnswer w = a_question();
    w.plan.plan.batches = {{12, kAskedAt + 3600, 1.5, 2, 60, 40}};
    w.view.batch.row.est_completion_time = kAskedAt + 7200;
    const std::string text = why_text(w);
    EXPECT_THAT(text, HasSubstr("place  2 of 5, 2.0 h of the whole project behind batch 7\n"));
    EXPECT_THAT(text, HasSubstr("(in 1.0 h); 60 jobs were to be sent, 40 hosts can be done with one by then"));
    EXPECT_THAT(text, HasSubstr("with 80 % probability"));
    const json::Object j = json::parse(why_json(w), "why");
    EXPECT_EQ(j.object("place").number("lag"), 7200);
    EXPECT_EQ(j.object("plan").number("T"), kAskedAt + 3600);
    EXPECT_EQ(j.number("eta"), kAskedAt + 7200);
}

/// Each of them was "not known" before, or nothing.
TEST(BatchWhy, WhoHasNoEtaIsToldWhy) {
    struct Case {
        const char* name;
        std::function<void(BatchAnswer&)> change;
        const char* said;
    };
    const Case cases[] = {
        {"gangs", [](BatchAnswer& w) { w.plan.gangs = GangsOfBatch{.size = 4, .gangs = 1}; }, "its jobs are gangs"},
        {"stream", [](BatchAnswer& w) { w.view.batch.row.state = BatchState::kInit; }, "it is a stream"},
        {"empty", [](BatchAnswer& w) { w.view.batch.row.state = BatchState::kInit, w.view.progress = {}; },
         "it has no jobs yet"},
        {"done", [](BatchAnswer& w) { w.view.progress.success = w.view.progress.njobs; }, "all of its jobs are done"},
        {"off", [](BatchAnswer& w) { w.plan = {}; }, "<plan_batches> is off in config.xml"},
        {"no plan", [](BatchAnswer& w) { w.plan.plan.version = 0; }, "has not made a plan yet"},
        {"old plan", [](BatchAnswer& w) { w.plan.plan.made_at = kAskedAt - 7200; }, "last plan is 2.0 h old"},
        {"new", [](BatchAnswer& w) { w.plan.plan.newest_batch = 11; }, "has not seen its jobs yet"},
        {"awaited", [](BatchAnswer& w) { w.plan.plan.awaited = {12}; }, "has not seen its jobs yet"},
        {"long", [](BatchAnswer&) {}, "it takes longer than batch_planner plans for"},
    };
    for (const Case& c : cases) {
        BatchAnswer w = a_question();
        c.change(w);
        EXPECT_THAT(why_text(w), HasSubstr(std::string("ETA    not known: "))) << c.name;
        EXPECT_THAT(why_no_eta(w.view, w.plan), HasSubstr(c.said)) << c.name;
        EXPECT_THAT(why_text(w), HasSubstr(std::string("plan   none: "))) << c.name;
        EXPECT_THAT(json::parse(why_json(w), "why").text("why_no_eta"), HasSubstr(c.said)) << c.name;
    }
}

TEST(BatchWhy, WhoHasNoPlaceIsToldWhy) {
    BatchAnswer w = a_question();
    w.order.quota = 0;
    EXPECT_THAT(why_text(w), HasSubstr("after all others: user 3 has no quota; sluice_batch quota --user 3 --set 1"));
    w = a_question();
    w.order.place.reset();
    EXPECT_THAT(why_text(w), HasSubstr("batch_shares gives it one with its next pass"));
    w.view.batch.row.state = BatchState::kInit;
    EXPECT_THAT(why_text(w), HasSubstr("none of its jobs waits"));
    w.order = {};
    EXPECT_THAT(why_text(w), HasSubstr("<share_rule> is off"));
    for (const auto& [state, name] :
         {std::pair(BatchState::kComplete, "complete"), std::pair(BatchState::kAborted, "aborted"),
          std::pair(BatchState::kRetired, "retired"), std::pair(static_cast<BatchState>(9), "state 9")}) {
        w = a_question(state);
        EXPECT_THAT(why_text(w), HasSubstr(std::string("place  none: it is ") + name));
        EXPECT_THAT(why_text(w), HasSubstr(std::string("plan   none: it is ") + name));
        EXPECT_THAT(why_text(w), HasSubstr("ETA    -\n"));
        EXPECT_THAT(why_json(w), HasSubstr("\"place\": null"));
    }
    w = a_question();
    w.order.place = OrderFacts::Place{1, 5, kAskedAt, 0, 12};
    EXPECT_THAT(why_text(w), HasSubstr("1 of 5, behind nobody"));
}

TEST(BatchWhy, HostsAreCountedByRefusal) {
    BatchAnswer w = a_question();
    w.hosts.asked = 150;
    w.hosts.instances = {60, 40, 30, 20};
    w.hosts.judged = 50, w.hosts.would_get = 8, w.hosts.jobs_in_array = 60;
    w.hosts.refusals = {{"memory", "Lower rsc_memory_bound.", 42}};
    const std::string text = why_text(w);
    EXPECT_THAT(text,
                HasSubstr("hosts  150 made a request in the last 24 h; 30 got jobs of this batch so far, 20 have"));
    EXPECT_THAT(text, HasSubstr("of the last 50 hosts 8 would get one of its 60 jobs"));
    EXPECT_THAT(text, HasSubstr("42 of 50 hosts: memory. Lower rsc_memory_bound.\n"));
    EXPECT_THAT(text, HasSubstr("jobs   200: 50 done, 0 failed; 40 instances at work, 60 not sent\n"));
    const json::Object hosts = json::parse(why_json(w), "why").object("hosts");
    EXPECT_EQ(hosts.objects("refusals").at(0).number("hosts"), 42);
    EXPECT_EQ(hosts.number("asked_in_24_hours"), 150);
}

// They starved, and nobody said so.
TEST(BatchWhy, GangsNameTheirMissingHosts) {
    GangsOfBatch g{.size = 4, .gangs = 3, .ended = 1};
    g.waits = {{{12, 1}, 4, 2, 1793340000, 1793344000}, {{12, 2}, 4, 1, 1793340000, 1793343000}};
    EXPECT_EQ(
        gangs_text(g),
        "3 of 4 members: 1 ended, 2 wait for hosts; 5 hosts are missing, since 2026-10-30 06:50 UTC; gang 12.1: 4 "
        "members wait since 2026-10-30 06:00 UTC; 2 hosts are missing since 2026-10-30 07:06 UTC");
    const json::Object j = json::parse(gangs_json(g), "gangs");
    EXPECT_EQ(j.number("hosts_missing"), 5);
    EXPECT_EQ(j.number("missing_since"), 1793343000);
    g.waits = {{{12, 1}, 4, 6, 1793340000, 0}};
    EXPECT_THAT(gangs_text(g),
                HasSubstr("1 wait for hosts; gang 12.1: 4 members wait since 2026-10-30 06:00 UTC; 6 hosts "
                          "are asked to come at the same time"));
    EXPECT_THAT(gangs_json(g), HasSubstr("\"missing_since\":null"));
    g.waits.clear();
    EXPECT_EQ(gangs_text(g), "3 of 4 members: 1 ended, 0 wait for hosts");
    g.cut = {5, 6, 7, 8, 9, 10};
    EXPECT_THAT(gangs_text(g), HasSubstr("the XML of 6 workunits, which is not whole (5, 6, 7, 8, 9, …): their gangs"));
    EXPECT_THAT(gangs_json(g), HasSubstr(R"("workunits_with_cut_xml":[5,6,7,8,9,10])"));
    BatchView v = a_question().view;
    v.gangs = g;
    EXPECT_THAT(show_text(v), HasSubstr("gangs                   3 of 4 members"));
    EXPECT_EQ(json::parse(show_json(v), "show").object("gangs").number("size"), 4);
}

TEST(BatchWhy, PlaceIsAmongBatchesAndStreamsThatWait) {
    ShareBook book{share::LogicalClock(share::ShareRule::kSettled, 86400), {}, {}};
    book.clock.set_quota(0, 1, 1);
    book.clock.set_quota(0, 2, 1);
    book.clock.submit(1000, 1, 7, 100);
    book.clock.submit(1000, 2, 8, 300);
    book.streams[9] = {.user_id = 1, .head = 50, .waits = true};
    book.streams[10] = {.user_id = 1, .waits = false};
    book.streams[11] = {.user_id = 5, .waits = true};
    EXPECT_EQ(place_of(book, 7)->number, 1u);
    const auto nine = place_of(book, 9), eight = place_of(book, 8);
    EXPECT_EQ(nine->end, book.clock.users().at(1).lst + 50);
    EXPECT_EQ(nine->number, 2u);
    EXPECT_EQ(eight->number, 3u);
    EXPECT_EQ(eight->of, 3u) << "who waits for nothing, or has no quota, has no place";
    EXPECT_EQ(eight->lag, 200);
    EXPECT_EQ(eight->first, 7);
    EXPECT_FALSE(place_of(book, 10));
    EXPECT_FALSE(place_of(book, 11));
    EXPECT_FALSE(place_of(book, 99));
}

}  // namespace
}  // namespace sluice
