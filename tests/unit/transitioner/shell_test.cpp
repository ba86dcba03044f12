// SPDX-License-Identifier: LGPL-3.0-or-later
// The shell on the store in memory: pages, broken workunits, lost races.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "daemons/transitioner/transitioner.h"
#include "db/memory/transition_store.h"
#include "sluice/base/log.h"
#include "sluice/base/text.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fake_db.h"
#include "tests/support/fixed_rng.h"
#include "tests/support/temp_dir.h"

namespace sluice::test {
namespace {

constexpr const char* kTemplate =
    "<output_template>\n<file_info>\n<name><OUTFILE_0/></name>\n<max_nbytes>10</max_nbytes>\n<url><UPLOAD_URL/></url>\n"
    "</file_info>\n<result>\n<file_ref>\n<file_name><OUTFILE_0/></file_name>\n</file_ref>\n</result>\n</output_template>\n";

class Shell : public testing::Test {
  protected:
    Shell() { project.write("templates/out", kTemplate); }
    Workunit& workunit(Id id, const std::string& result_template = "templates/out") {
        Workunit& wu = db.workunits[id];
        wu.id = id, wu.name = "wu" + std::to_string(id), wu.appid = 1, wu.delay_bound = 1000;
        wu.min_quorum = wu.target_nresults = 1, wu.max_error_results = 3, wu.max_total_results = 5;
        wu.transition_time = now() - 10, wu.result_template_file = result_template;
        return wu;
    }
    Result& result(Id wu, const std::string& name, ServerState state) {
        const Id id = db.results.next_key();
        Result& r = db.results[id];
        r.id = id, r.workunitid = wu, r.name = name, r.server_state = state;
        return r;
    }
    std::int64_t now() const { return clock.now_sec(); }
    TurnResult pass() {
        Transitioner transitioner(options, params, store, templates, {clock, rng});
        return transitioner.pass();
    }
    int results_of(Id wu) const {
        return static_cast<int>(std::count_if(db.results.begin(), db.results.end(),
                                              [&](const auto& r) { return r.second.workunitid == wu; }));
    }

    TempDir project;
    FakeDb db;
    MemoryTransitionStore store{db.memory};
    FakeClock clock;
    FixedRng rng = FixedRng(1);
    TransitionerOptions options;
    TransitionParams params;
    ResultTemplates templates{project.path(), "http://x/upload", nullptr};
};

/// The lines of a pass at -d 4, without their time stamps.
std::vector<std::string> logged(const std::function<void()>& pass) {
    log_set_level(LogLevel::kDebug);
    log_start_copy();
    pass();
    const std::string text = log_take_copy();
    log_set_level(LogLevel::kNormal);
    std::vector<std::string> lines;
    for (const auto line : split(text, '\n'))
        if (const auto at = line.find(" UTC "); at != std::string_view::npos) lines.emplace_back(line.substr(at + 5));
    return lines;
}

// As upstream words it, at its levels: admins' scripts look for these.
TEST_F(Shell, WhatItDoesIsLoggedAsUpstreamDoes) {
    using Lines = std::vector<std::string>;
    workunit(4).target_nresults = 2;
    EXPECT_THAT(
        logged([&] { pass(); }),
        testing::IsSupersetOf(
            Lines{"[debug] [WU#4 wu4] 0 results: unsent 0, in_progress 0, over 0 (success 0, error 0, couldnt_send 0, "
                  "no_reply 0, didnt_need 0)",
                  "[WU#4 wu4] Generating 2 more results (2 target - 0 unsent - 0 in progress - 0 success)",
                  "[debug] [WU#4 wu4] setting transition_time to " + std::to_string(now() + 864000)}));
    auto first = db.results.begin(), second = std::next(first);
    first->second.server_state = ServerState::kOver;
    first->second.outcome = Outcome::kSuccess;
    second->second.server_state = ServerState::kInProgress;
    second->second.report_deadline = now() - 3;
    db.workunits[4].transition_time = now() - 1;
    db.workunits[4].max_total_results = 2;
    const std::string times = std::to_string(now() - 3) + " < " + std::to_string(now());
    EXPECT_THAT(logged([&] { pass(); }),
                testing::IsSupersetOf(Lines{"[WU#4 wu4] need_validate:=>true",
                                            "[WU#4 wu4] [RESULT#2 wu4_1] result timed out (" + times +
                                                ") server_state:IN_PROGRESS=>OVER; outcome:NO_REPLY",
                                            "[WU#4 wu4] WU has too many total results (2)",
                                            "[WU#4 wu4] error_mask:8 assimilate_state:INIT=>READY"}));
}

TEST_F(Shell, ResultsAreMadeFromTheTemplate) {
    Workunit& wu = workunit(4);
    wu.batch = 9, wu.priority = 3, wu.size_class = 1;
    db.apps[1].n_size_classes = 3;
    EXPECT_EQ(pass(), TurnResult::kWorked);
    ASSERT_EQ(db.results.size(), 1u);
    const Result& r = db.results.begin()->second;
    EXPECT_EQ(r.name, "wu4_0");
    EXPECT_EQ(r.workunitid, 4);
    EXPECT_EQ(r.batch, 9);
    EXPECT_EQ(r.appid, 1);
    EXPECT_EQ(r.priority, 3);
    EXPECT_EQ(r.size_class, 1);
    EXPECT_EQ(r.server_state, ServerState::kInactive);
    EXPECT_EQ(r.create_time, now());
    EXPECT_GE(r.random, 0);
    EXPECT_LE(r.random, 2147483647);
    EXPECT_THAT(r.xml_doc_in, testing::ContainsRegex("<name>wu4_0_r[0-9]+_0</name>"));
    EXPECT_THAT(r.xml_doc_in, testing::HasSubstr("<url>http://x/upload</url>"));
    EXPECT_THAT(r.xml_doc_in, testing::Not(testing::HasSubstr("output_template")));
    EXPECT_THAT(r.xml_doc_in, testing::StartsWith("<file_info>"));  // as upstream stores it
    EXPECT_THAT(r.xml_doc_in, testing::EndsWith("</result>"));
    EXPECT_EQ(pass(), TurnResult::kIdle);
}

TEST_F(Shell, Level1SizesAreComparedWithinTheApp) {
    params.compat_level = 1;
    db.apps[1].id = 1, db.apps[1].n_size_classes = 3;
    for (const int size_class : {0, 1, 2, 3}) {
        Workunit& other = workunit(1 + size_class);
        other.size_class = size_class, other.rsc_fpops_est = std::pow(10, 12 + size_class);
        other.transition_time = kNever;
    }
    workunit(9).rsc_fpops_est = 2e13;
    workunit(10).rsc_fpops_est = 1e18;
    EXPECT_EQ(pass(), TurnResult::kWorked);
    EXPECT_EQ(db.workunits[9].size_class, 1);
    EXPECT_EQ(db.workunits[10].size_class, 2) << "the app has no class 3 any more";
    ASSERT_EQ(db.results.size(), 2u);
    for (const auto& [id, r] : db.results) {
        EXPECT_EQ(r.size_class, db.workunits[r.workunitid].size_class);
        EXPECT_EQ(r.server_state, ServerState::kInactive);
    }
}

TEST_F(Shell, CertificatesAreSignedWhenThereIsAKey) {
    const KeyPairText keys = generate_key_pair();
    const PrivateKey key = PrivateKey::from_text(keys.private_key);
    ResultTemplates signing(project.path(), "http://x/upload", &key);
    workunit(4);
    Transitioner(options, params, store, signing, {clock, rng}).pass();
    EXPECT_THAT(db.results.begin()->second.xml_doc_in, testing::HasSubstr("<xml_signature>"));
}

TEST_F(Shell, ManyWorkunitsWithManyResultsAreAllHandled) {
    for (Id id = 1; id <= 1234; ++id) workunit(id);
    Workunit& crowded = workunit(5000);
    crowded.target_nresults = 1500, crowded.max_total_results = 2000;
    for (int i = 0; i < 1200; ++i) {
        Result& r = result(5000, "wu5000_" + std::to_string(i), ServerState::kOver);
        r.outcome = Outcome::kNoReply;
    }
    pass();
    for (Id id = 1; id <= 1234; ++id) EXPECT_EQ(results_of(id), 1) << id;
    EXPECT_EQ(results_of(5000), 2000) << "upstream never handles a workunit with a thousand results";
    for (const auto& [id, wu] : db.workunits) EXPECT_GT(wu.transition_time, now()) << id;
}

TEST_F(Shell, AMissingTemplateStopsNobodyElse) {
    workunit(1, "templates/missing");
    workunit(2);
    workunit(3, "");
    project.write("templates/bad", "no result here");
    workunit(4, "templates/bad");
    workunit(5).name = std::string(190, 'n');
    EXPECT_EQ(pass(), TurnResult::kWorked);
    EXPECT_EQ(results_of(2), 1);
    for (const Id broken : {1, 3, 4, 5}) {
        EXPECT_EQ(results_of(broken), 0) << broken;
        EXPECT_EQ(db.workunits.at(broken).transition_time, now() + Transitioner::kRetryDelay) << broken;
        EXPECT_EQ(db.workunits.at(broken).error_mask, 0);
    }
    EXPECT_EQ(pass(), TurnResult::kIdle);
    project.write("templates/missing", kTemplate);
    clock.advance(Transitioner::kRetryDelay + 1);
    pass();
    EXPECT_EQ(results_of(1), 1) << "once it is there";
}

TEST_F(Shell, ResultNameThatIsTakenStopsNobodyElse) {
    for (Id id = 1; id <= 5; ++id) workunit(id);
    result(99, "wu3_0", ServerState::kUnsent);
    pass();
    for (const Id id : {1, 2, 4, 5}) EXPECT_EQ(results_of(id), 1) << id;
    EXPECT_EQ(results_of(3), 0);
    EXPECT_EQ(db.workunits.at(3).transition_time, now() + Transitioner::kRetryDelay);
}

TEST_F(Shell, ARefusingDatabaseBlamesNoWorkunit) {
    for (Id id = 1; id <= 100; ++id) workunit(id);
    db.before = [](const std::string& verb) {
        if (verb == "transition.transition") throw DbError(DbError::Kind::kOther, 1146, "no table");
    };
    EXPECT_THROW(pass(), DbError);
    for (const auto& [id, wu] : db.workunits) EXPECT_LT(wu.transition_time, now());
}

TEST_F(Shell, ALostConnectionEndsThePass) {
    for (Id id = 1; id <= 1000; ++id) workunit(id);
    int calls = 0;
    db.before = [&](const std::string& verb) {
        if (verb == "transition.transition" && ++calls == 2) throw DbError(DbError::Kind::kLost, 2013, "gone");
    };
    EXPECT_THROW(pass(), DbError);
    EXPECT_EQ(calls, 2);
    db.before = nullptr;
    pass();
    for (Id id = 1; id <= 1000; ++id) EXPECT_EQ(results_of(id), 1);
}

TEST_F(Shell, ReportThatComesInBetweenIsNotOverwritten) {
    workunit(1);
    const Id id = result(1, "wu1_0", ServerState::kInProgress).id;
    db.results[id].report_deadline = now() - 5;
    bool reported = false;
    store.before_write = [&] {
        if (reported) return;
        reported = true;
        Result& r = db.results.at(id);
        r.server_state = ServerState::kOver, r.outcome = Outcome::kSuccess, r.received_time = now();
    };
    pass();
    EXPECT_EQ(db.results.at(id).outcome, Outcome::kSuccess);
    EXPECT_EQ(results_of(1), 1) << "no replacement for a job that came back";
    EXPECT_TRUE(db.workunits.at(1).need_validate);
}

TEST_F(Shell, ADeadlineThatWasMovedInBetweenHolds) {
    workunit(1);
    const Id id = result(1, "wu1_0", ServerState::kInProgress).id;
    db.results[id].report_deadline = now() - 5;
    store.before_write = [&] { db.results.at(id).report_deadline = now() + 500; };
    pass();
    EXPECT_EQ(db.results.at(id).server_state, ServerState::kInProgress);
    EXPECT_EQ(db.workunits.at(1).transition_time, now() + 500);
}

TEST_F(Shell, ModDividesTheWork) {
    for (Id id = 1; id <= 10; ++id) workunit(id);
    options.scope = {.share = {3, 1}};
    pass();
    for (Id id = 1; id <= 10; ++id) EXPECT_EQ(results_of(id), id % 3 == 1 ? 1 : 0) << id;
}

TEST_F(Shell, OneWorkunitDueOrNot) {
    workunit(1);
    workunit(2).transition_time = kNever;
    options.scope.only = 2;
    EXPECT_EQ(pass(), TurnResult::kFinished);
    EXPECT_EQ(results_of(1), 0);
    EXPECT_EQ(results_of(2), 1);
}

TEST_F(Shell, BroadcastsAreLeftAlone) {
    workunit(1).transitioner_flags = TransitionerFlags::kNoTransition;
    EXPECT_EQ(pass(), TurnResult::kIdle);
    options.scope.only = 1;
    pass();
    EXPECT_EQ(results_of(1), 0);
}

TEST_F(Shell, ADryRunWritesNothing) {
    workunit(1);
    options.dry_run = true;
    testing::internal::CaptureStdout();
    EXPECT_EQ(pass(), TurnResult::kFinished);
    EXPECT_THAT(testing::internal::GetCapturedStdout(), testing::HasSubstr("WU#1 wu1: next look at"));
    EXPECT_EQ(results_of(1), 0);
    EXPECT_EQ(db.workunits.at(1).transition_time, now() - 10);
}

}  // namespace
}  // namespace sluice::test
