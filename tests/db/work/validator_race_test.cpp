// SPDX-License-Identifier: LGPL-3.0-or-later
// What happens between the validator's reading of a workunit and its verdict: results that come in, verdicts of others,
// cancellations. A second connection holds the row that the validator wants next, and changes things meanwhile.
#include <ctime>
#include <functional>

#include "tests/db/work/work_chain.h"

namespace sluice::test {
namespace {

class ValidatorRace : public WorkChain {
  protected:
    using Change = std::function<void(Database&)>;

    /// Runs a validator that has read the workunit and then waits for a row that `hold` locks; `meanwhile` happens
    /// while it waits. `statement`: how the statement begins at which it waits.
    void validate_while(const Change& hold, SqlLiteral statement, const Change& meanwhile) {
        Database other(PrivateMariaDb::shared().settings(name()));
        std::optional<Subprocess> validator;
        other.transaction([&] {
            hold(other);
            RunOptions options;
            options.env["BOINC_PROJECT_DIR"] = project_.path().string();
            validator.emplace(std::vector<std::string>{std::string(SLUICE_BIN) + "/sample_bitwise_validator", "--app",
                                                       "a", "--one_pass", "-d", "4"},
                              options);
            Sql waiting("SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE '");
            waiting << statement << "%'";
            ASSERT_TRUE(eventually([&] { return number_of(db_, waiting) > 0; })) << validator->err();
            meanwhile(other);
        });
        const auto ended = validator->wait();
        ASSERT_TRUE(ended) << validator->err();
        ASSERT_EQ(ended->status, 0) << ended->err;
        log_ = ended->err;
    }
    void validate_while(const Change& meanwhile) {
        validate_while([](Database& db) { db.query(Sql("SELECT id FROM workunit FOR UPDATE")); },
                       "SELECT canonical_resultid", meanwhile);
    }
    /// A workunit with quorum 2 and three results: two are back, host 3 still has the third.
    void two_of_three(const std::string& first, const std::string& second) {
        make_workunit(2);
        returned(10, 1, 1, first);
        returned(11, 1, 2, second);
        returned(12, 1, 3, "same");
        db_.execute(Sql("UPDATE result SET server_state=4, outcome=0 WHERE id=12"));
        db_.execute(Sql("UPDATE workunit SET target_nresults=3, transition_time=") << later_);
    }
    /// A scheduler takes the third result's report, and the transitioner has looked at it already.
    void report_third(Database& db) const {
        db.execute(Sql("UPDATE result SET server_state=5, outcome=1 WHERE id=12"));
        db.execute(Sql("UPDATE workunit SET need_validate=1, transition_time=") << later_);
    }
    std::vector<std::vector<std::string>> workunit() {
        return rows_of(db_, Sql("SELECT canonical_resultid, need_validate, error_mask FROM workunit"), 3);
    }

    const std::int64_t later_ = std::time(nullptr) + 864000;  ///< where the transitioner puts it off to
    std::string log_;
};
using Table = std::vector<std::vector<std::string>>;

TEST_F(ValidatorRace, AResultReportedMeanwhileIsCounted) {
    two_of_three("same", "other");
    validate_while([&](Database& db) { report_third(db); });
    EXPECT_EQ(results(), (Table{{"10", "5", "1", "1"}, {"11", "5", "1", "2"}, {"12", "5", "1", "1"}})) << log_;
    EXPECT_EQ(workunit(), (Table{{"10", "0", "0"}}));
}

TEST_F(ValidatorRace, TheSameBesideACanonicalResult) {
    two_of_three("same", "same");
    validate_while([&](Database& db) { report_third(db); });
    EXPECT_EQ(results(), (Table{{"10", "5", "1", "1"}, {"11", "5", "1", "1"}, {"12", "5", "1", "1"}})) << log_;
    EXPECT_EQ(number_of(db_, Sql("SELECT COUNT(*) FROM result WHERE granted_credit>0")), 3);
}

TEST_F(ValidatorRace, AnotherValidatorsVerdictIsReadFirst) {
    two_of_three("same", "same");
    validate_while([&](Database& db) { db.execute(Sql("UPDATE result SET validate_state=3 WHERE id IN (10,11)")); });
    EXPECT_EQ(results(), (Table{{"10", "5", "1", "1"}, {"11", "5", "1", "1"}, {"12", "4", "0", "0"}})) << log_;
    EXPECT_EQ(workunit(), (Table{{"10", "0", "0"}}));
    EXPECT_EQ(number_of(db_, Sql("SELECT COUNT(*) FROM result WHERE granted_credit>0")), 2);
    EXPECT_EQ(number_of(db_, Sql("SELECT SUM(et_n) FROM host_app_version")), 2);
}

TEST_F(ValidatorRace, ProgramsWithoutLocksAreNoticed) {
    two_of_three("same", "same");
    // As upstream's validator does it: the results first, the workunit (never locked) last.
    validate_while([](Database& db) { db.execute(Sql("UPDATE result SET validate_state=3 WHERE id IN (10,11)")); },
                   "UPDATE result FORCE", [](Database&) {});
    EXPECT_EQ(results(), (Table{{"10", "5", "1", "1"}, {"11", "5", "1", "1"}, {"12", "4", "0", "0"}})) << log_;
    EXPECT_EQ(workunit(), (Table{{"10", "0", "0"}}));
    EXPECT_EQ(number_of(db_, Sql("SELECT SUM(et_n) FROM host_app_version")), 2) << "credit of the first try came back";
}

TEST_F(ValidatorRace, WorkunitCancelledMeanwhileGetsNoCanonicalResult) {
    two_of_three("same", "same");
    validate_while([](Database& db) { db.execute(Sql("UPDATE workunit SET error_mask=16, transition_time=7")); });
    EXPECT_EQ(results(), (Table{{"10", "5", "1", "0"}, {"11", "5", "1", "0"}, {"12", "4", "0", "0"}})) << log_;
    EXPECT_EQ(workunit(), (Table{{"0", "0", "16"}}));
    EXPECT_EQ(number_of(db_, Sql("SELECT transition_time FROM workunit")), 7) << "the transitioner is still to come";
}

TEST_F(ValidatorRace, AQuorumThatFallsApartMeanwhileIsNone) {
    two_of_three("same", "same");
    validate_while([](Database& db) {
        db.execute(Sql("UPDATE result SET outcome=6, validate_state=2 WHERE id=11"));
        db.execute(Sql("UPDATE workunit SET transition_time=7"));
    });
    EXPECT_EQ(results(), (Table{{"10", "5", "1", "0"}, {"11", "5", "6", "2"}, {"12", "4", "0", "0"}})) << log_;
    EXPECT_EQ(workunit(), (Table{{"0", "0", "0"}}));
}

TEST_F(ValidatorRace, TargetThatIsRaisedMeanwhileIsNotLowered) {
    two_of_three("same", "other");
    db_.execute(Sql("UPDATE workunit SET target_nresults=2"));
    validate_while([](Database& db) { db.execute(Sql("UPDATE workunit SET target_nresults=4")); });
    EXPECT_EQ(number_of(db_, Sql("SELECT target_nresults FROM workunit")), 4);
}

TEST_F(ValidatorRace, OneUnwritableWorkunitStopsNoOther) {
    make_workunit(1);
    returned(10, 1, 1, "x");
    // The server refuses to write its result: the number is out of the column's range.
    db_.execute(
        Sql("CREATE OR REPLACE TRIGGER refuse BEFORE UPDATE ON result FOR EACH ROW "
            "SET NEW.exit_status = IF(NEW.id=10, 99999999999, NEW.exit_status)"));
    stage("g");
    ASSERT_EQ(run_program({"create_work", "--appname", "a", "--wu_name", "z", "--size_class", "0", "g"}).status, 0);
    db_.execute(Sql("UPDATE workunit SET need_validate=1"));
    returned(11, 2, 2, "x");
    const auto r = run_program({"sample_bitwise_validator", "--app", "a", "--one_pass"});
    db_.execute(Sql("DROP TRIGGER refuse"));
    EXPECT_EQ(r.status, 0) << r.err;
    EXPECT_NE(r.err.find("[WU#1 w] can't be validated: "), std::string::npos) << r.err;
    EXPECT_NE(r.err.find("; looked at again in 300 s"), std::string::npos) << r.err;
    EXPECT_EQ(rows_of(db_, Sql("SELECT id, need_validate, canonical_resultid FROM workunit ORDER BY id"), 3),
              (Table{{"1", "1", "0"}, {"2", "0", "11"}}));
}

}  // namespace
}  // namespace sluice::test
