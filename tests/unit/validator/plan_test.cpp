// SPDX-License-Identifier: LGPL-3.0-or-later
// The validator's decisions: table of upstream's framework (quorum, agreement of more than half, late results, errors).
#include "daemons/validator/plan.h"
#include "sluice/model/catalogue.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>

namespace sluice {
namespace {

constexpr std::int64_t kNow = 1000000;
using Kind = OutputCheck::Kind;

/// A workunit with quorum 2 and results given by a text: a letter a result. A-Z: success with that output; '!' success
/// whose file is missing; '~' file system away; 'u' unsent, 'i' inactive, 'p' in progress, 'e' client error.
struct World {
    ValidateFacts facts;
    explicit World(const std::string& results, int quorum = 2) {
        facts.wu.id = 1;
        facts.wu.min_quorum = quorum;
        facts.wu.target_nresults = quorum;
        facts.wu.max_success_results = 6;
        for (std::size_t i = 0; i < results.size(); ++i) add(static_cast<Id>(i) + 10, results[i]);
        const auto needed = needs_output(facts.wu, facts.results);
        for (std::size_t i = 0; i < needed.size(); ++i)
            if (!needed[i]) facts.outputs[i].reset();
    }
    void add(Id id, char c) {
        Result r;
        r.id = id;
        r.server_state = c == 'u'   ? ServerState::kUnsent
                         : c == 'i' ? ServerState::kInactive
                         : c == 'p' ? ServerState::kInProgress
                                    : ServerState::kOver;
        r.outcome = r.server_state != ServerState::kOver ? Outcome::kInit
                    : c == 'e'                           ? Outcome::kClientError
                                                         : Outcome::kSuccess;
        facts.results.push_back(r);
        facts.outputs.push_back(OutputCheck{c == '!'   ? Kind::kError
                                            : c == '~' ? Kind::kTransient
                                                       : Kind::kGood,
                                            std::string(1, c)});
    }
    ValidationPlan plan() { return plan_validation(facts, App{}, kNow); }
    /// One letter a result: V valid, I invalid, C inconclusive, E validate error, L too late, - untouched.
    static std::string verdicts(const World& w, const ValidationPlan& p) {
        std::string out;
        for (const Result& r : w.facts.results) {
            char c = '-';
            for (const auto& v : p.verdicts) {
                if (v.result_id != r.id) continue;
                c = v.outcome == Outcome::kValidateError               ? 'E'
                    : v.validate_state == ValidateState::kValid        ? 'V'
                    : v.validate_state == ValidateState::kInvalid      ? 'I'
                    : v.validate_state == ValidateState::kInconclusive ? 'C'
                    : v.validate_state == ValidateState::kTooLate      ? 'L'
                                                                       : '?';
            }
            out += c;
        }
        return out;
    }
};

struct Case {
    const char* results;
    int quorum;
    const char* verdicts;
    Id canonical;
};
class Quorum : public testing::TestWithParam<Case> {};
TEST_P(Quorum, Decides) {
    World w(GetParam().results, GetParam().quorum);
    const auto plan = w.plan();
    EXPECT_EQ(World::verdicts(w, plan), GetParam().verdicts);
    EXPECT_EQ(plan.canonical_resultid, GetParam().canonical);
    EXPECT_EQ(plan.assimilate, GetParam().canonical != 0);
    if (GetParam().canonical != 0) {
        EXPECT_EQ(plan.transition_time, kNever);
    }
}
INSTANTIATE_TEST_SUITE_P(All, Quorum,
                         testing::Values(Case{"A", 1, "V", 10}, Case{"AA", 2, "VV", 10}, Case{"AB", 2, "CC", 0},
                                         Case{"ABA", 2, "VIV", 10}, Case{"BAA", 2, "IVV", 11}, Case{"A", 2, "-", 0},
                                         Case{"Ae", 2, "--", 0}, Case{"A!", 2, "-E", 0}, Case{"AA!", 2, "VVE", 10},
                                         Case{"A~", 2, "--", 0}, Case{"AA~", 2, "VV-", 10},
                                         // quorum 3: two that agree are more than half of 3
                                         Case{"AAB", 3, "VVI", 10}, Case{"ABC", 3, "CCC", 0},
                                         // quorum 4 needs three that agree
                                         Case{"AABB", 4, "CCCC", 0}, Case{"AAAB", 4, "VVVI", 10},
                                         // adaptive replication: quorum 1 with two answers, the first is canonical
                                         Case{"AB", 1, "VI", 10}));

TEST(Suspicious, OneAloneIsNotEnough) {
    App app;
    app.target_nresults = 2;
    World w("A", 1);
    w.facts.outputs[0]->suspicious = true;
    auto plan = plan_validation(w.facts, app, kNow);
    EXPECT_EQ(plan.canonical_resultid, 0);
    EXPECT_EQ(plan.target_nresults, 2);
    EXPECT_EQ(World::verdicts(w, plan), "C");
    w.add(11, 'A');
    plan = plan_validation(w.facts, app, kNow);
    EXPECT_EQ(plan.canonical_resultid, 10);
    app.target_nresults = 1;
    World alone("A", 1);
    alone.facts.outputs[0]->suspicious = true;
    EXPECT_EQ(plan_validation(alone.facts, app, kNow).canonical_resultid, 0) << "upstream never counts one alone";
}

TEST(Validation, UnneededInstancesAreCancelledInactiveOnesToo) {
    World w("AuipA");
    const auto plan = w.plan();
    EXPECT_EQ(plan.cancel, (std::vector<Id>{11, 12}));  // not the one in progress: its host is at work
}

TEST(Validation, WithoutAgreementOneMoreInstanceIsAskedFor) {
    const auto plan = World("AB").plan();
    EXPECT_EQ(plan.target_nresults, 3);
    EXPECT_EQ(plan.transition_time, kNow);
}

TEST(Validation, TooManyDifferentAnswersIsAnError) {
    World w("ABCDEFG");
    const auto plan = w.plan();
    EXPECT_EQ(plan.error_mask, kWuTooManySuccess);
    EXPECT_EQ(plan.canonical_resultid, 0);
}

TEST(Validation, AMissingFileCallsTheTransitioner) { EXPECT_EQ(World("A!").plan().transition_time, kNow); }

TEST(Validation, AnAbsentFileSystemIsTriedAgainLater) {
    const auto plan = World("A~").plan();
    EXPECT_TRUE(plan.again_later);
    EXPECT_EQ(plan.transition_time, 0);
    EXPECT_TRUE(plan.verdicts.empty());
}

// Upstream marks the others inconclusive and asks for one more instance each time.
TEST(Validation, AbsentFileSystemAsksForNoMoreInstances) {
    World w("AB~");
    const auto plan = w.plan();
    EXPECT_TRUE(plan.again_later);
    EXPECT_TRUE(plan.verdicts.empty());
    EXPECT_EQ(plan.target_nresults, 0);
    EXPECT_EQ(plan.error_mask, 0);
}

TEST(Validation, AWorkunitInErrorIsLeftAlone) {
    World w("AA");
    w.facts.wu.error_mask = kWuCancelled;
    EXPECT_TRUE(w.plan().verdicts.empty());
}

struct Late : testing::Test {
    static World with_canonical(const std::string& results) {
        World w(results);
        w.facts.wu.canonical_resultid = 10;
        w.facts.wu.canonical_credit = 4;
        w.facts.results[0].validate_state = ValidateState::kValid;
        const auto needed = needs_output(w.facts.wu, w.facts.results);
        for (std::size_t i = 0; i < needed.size(); ++i) {
            EXPECT_EQ(needed[i], results[i] != 'p') << i;
            w.facts.outputs[i] = OutputCheck{results[i] == '!'   ? Kind::kError
                                             : results[i] == '~' ? Kind::kTransient
                                                                 : Kind::kGood,
                                             std::string(1, results[i])};
        }
        return w;
    }
};
TEST_F(Late, IsComparedWithTheCanonicalResult) {
    World w = with_canonical("AAB");
    const auto plan = w.plan();
    EXPECT_EQ(World::verdicts(w, plan), "-VI");
    EXPECT_EQ(plan.canonical_resultid, 0);
    EXPECT_EQ(plan.verdicts[0].granted_credit, 4);
    EXPECT_EQ(plan.transition_time, kNow);
}
TEST_F(Late, CanonicalFilesGoneMeansTooLate) {
    World w = with_canonical("!A");
    EXPECT_EQ(World::verdicts(w, w.plan()), "-L");
}
TEST_F(Late, OwnFileMissing) {
    World w = with_canonical("A!");
    EXPECT_EQ(World::verdicts(w, w.plan()), "-E");
}

// Comparisons instead of keys: near(a, b) as a fuzzy comparison would say.
struct Compared : testing::Test {
    using Pairs = std::set<std::pair<std::size_t, std::size_t>>;
    int asked = 0;
    ValidationPlan plan(World& w, const Pairs& same, const Pairs& transient = {}) {
        w.facts.compared =
            compare_as_needed(w.facts.wu, w.facts.results, w.facts.outputs, [&](std::size_t a, std::size_t b) {
                ++asked;
                const auto in = [&](const Pairs& p) { return p.contains({a, b}) || p.contains({b, a}); };
                return in(transient) ? Agreement::kTransient : in(same) ? Agreement::kSame : Agreement::kDifferent;
            });
        return w.plan();
    }
};
TEST_F(Compared, CanonicalIsWhoAgreesWithEnough) {
    World w("AAA", 3);
    w.facts.wu.min_quorum = 4;  // three must agree
    w.add(13, 'A');
    const auto p = plan(w, {{0, 1}, {1, 2}});
    EXPECT_EQ(p.canonical_resultid, 11) << "0 and 2 differ";
    EXPECT_EQ(World::verdicts(w, p), "VVVI");
    EXPECT_EQ(asked, 6) << "no more than two rows";
}
TEST_F(Compared, EqualKeysDontCount) {
    World w("AA");
    const auto p = plan(w, {});
    EXPECT_EQ(p.canonical_resultid, 0);
    EXPECT_EQ(p.target_nresults, 3);
}
TEST_F(Compared, BelowTheQuorumNothingIsAsked) {
    World w("A~");
    EXPECT_TRUE(plan(w, {{0, 1}}).again_later);
    EXPECT_EQ(asked, 0);
}
// Upstream marks both inconclusive and raises target_nresults at each pass.
TEST_F(Compared, TransientComparisonAsksForNoMoreInstances) {
    World w("AB");
    const auto p = plan(w, {}, {{0, 1}});
    EXPECT_TRUE(p.again_later);
    EXPECT_TRUE(p.verdicts.empty());
    EXPECT_EQ(p.target_nresults, 0);
}
TEST_F(Compared, DoubtfulOneWaitsWhereOthersAgree) {
    World w("ABC");
    const auto p = plan(w, {{0, 1}}, {{0, 2}});
    EXPECT_EQ(World::verdicts(w, p), "VV-");
    EXPECT_TRUE(p.again_later);
    EXPECT_EQ(p.canonical_resultid, 10);
}
TEST_F(Compared, LateResultsWithCanonicalOnly) {
    World w = Late::with_canonical("ABCD");
    const auto p = plan(w, {{0, 1}, {2, 3}}, {{3, 0}});
    EXPECT_EQ(World::verdicts(w, p), "-VI-");
    EXPECT_TRUE(p.again_later);
    EXPECT_EQ(asked, 3);
}

TEST(NeedsOutput, NothingIsReadBelowTheQuorum) {
    const World w("A");
    EXPECT_EQ(needs_output(w.facts.wu, w.facts.results), std::vector<bool>{false});
}

/// What a judge says that decides itself: a letter a result, V valid, I invalid, '.' nothing; `canonical`: its place.
struct DecidedCase {
    const char* results;
    int quorum;
    const char* said;
    int canonical;
    const char* verdicts;
    Id canonical_id;
    int target;
};
class Decided : public testing::TestWithParam<DecidedCase> {};
TEST_P(Decided, GoesBeforeQuorums) {
    const DecidedCase& c = GetParam();
    World w(c.results, c.quorum);
    w.facts.decided.emplace();
    for (const char* said = c.said; *said != '\0'; ++said)
        w.facts.decided->states.push_back(*said == 'V'   ? ValidateState::kValid
                                          : *said == 'I' ? ValidateState::kInvalid
                                                         : ValidateState::kInit);
    if (c.canonical >= 0) w.facts.decided->canonical = static_cast<std::size_t>(c.canonical);
    const auto plan = w.plan();
    EXPECT_EQ(World::verdicts(w, plan), c.verdicts);
    EXPECT_EQ(plan.canonical_resultid, c.canonical_id);
    EXPECT_EQ(plan.assimilate, c.canonical_id != 0);
    EXPECT_EQ(plan.target_nresults, c.target);
}
INSTANTIATE_TEST_SUITE_P(
    Plan, Decided,
    testing::Values(DecidedCase{"AAB", 2, "VVI", 0, "VVI", 10, 0},
                    // one of two is enough, if the judge says so, and what it leaves open stays
                    DecidedCase{"AB", 2, "V.", 0, "VC", 10, 0}, DecidedCase{"A", 1, ".", 0, "V", 10, 0},
                    DecidedCase{"A", 1, ".", -1, "C", 0, 2}, DecidedCase{"AB", 2, "I.", -1, "IC", 0, 0},
                    // valid, but no result is the canonical one: nothing to grant
                    DecidedCase{"AB", 2, "VV", -1, "CC", 0, 3}, DecidedCase{"A!", 2, "..", -1, "CE", 0, 0},
                    // the canonical one can't be read
                    DecidedCase{"A!", 2, "V.", 1, "CE", 0, 0}, DecidedCase{"A~", 2, "..", -1, "--", 0, 0},
                    DecidedCase{"A~u", 2, "V..", 0, "V--", 10, 0}));

TEST(Plan, LateResultsAreWhatTheJudgeDecides) {
    World w("ABCD");
    w.facts.wu.canonical_resultid = 10;
    w.facts.wu.canonical_credit = 7;
    w.facts.results[0].validate_state = ValidateState::kValid;
    w.facts.decided = {{ValidateState::kInit, ValidateState::kValid, ValidateState::kInvalid, ValidateState::kInit},
                       {}};
    const auto plan = w.plan();
    EXPECT_EQ(World::verdicts(w, plan), "-VI-");
    EXPECT_EQ(plan.verdicts[0].granted_credit, 7);
    EXPECT_EQ(plan.transition_time, kNow);
    EXPECT_FALSE(plan.again_later);
}

}  // namespace
}  // namespace sluice
