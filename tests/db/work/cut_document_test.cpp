// SPDX-License-Identifier: LGPL-3.0-or-later
// Results whose xml_doc_in is cut or empty, so that nobody knows their output files: an admin may mend the rows.
#include <algorithm>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/db/work/lasting_daemons.h"
#include "tests/db/work/work_chain.h"

namespace sluice::test {
namespace {

using Table = std::vector<std::vector<std::string>>;

class CutDocument : public WorkChain {
  protected:
    RunResult validate() { return run_program({"sample_bitwise_validator", "--app", "a", "--one_pass"}); }
    /// `n` jobs of one instance each, with ids from 1 and from 101, each returned by its own user.
    void many(int n) {
        stage("many");
        std::string lines;
        for (int i = 1; i <= n; ++i) lines += "--wu_name m" + std::to_string(i) + " many\n";
        ASSERT_EQ(run_program({"create_work", "--appname", "a", "--stdin"}, lines).status, 0);
        for (int i = 1; i <= n; ++i) returned(100 + i, i, 1, "x");
        db_.execute(Sql("UPDATE workunit SET need_validate=1"));
        db_.execute(Sql("UPDATE result SET userid=id"));
        all_reported(0);
    }
    /// So many s ago.
    void all_reported(std::int64_t ago) {
        db_.execute(Sql("UPDATE result SET received_time=") << static_cast<std::int64_t>(std::time(nullptr)) - ago);
    }
    /// bin/collect: a script that writes its arguments into `calls`.
    void write_collector() {
        project_.write("bin/collect", "#!/bin/sh\necho \"$@\" >> " + (project_ / "calls").string() + "\n");
        fs::permissions(project_ / "bin/collect", fs::perms::owner_all);
    }
    void set_document(Id result, const std::string& document) {
        db_.execute(Sql("UPDATE result SET xml_doc_in=") << SqlBlob{document} << " WHERE id=" << result);
    }
    std::int64_t valid() { return number_of(db_, Sql("SELECT COUNT(*) FROM result WHERE validate_state=1")); }
    std::int64_t lost() { return number_of(db_, Sql("SELECT COUNT(*) FROM result WHERE outcome=6")); }
};

TEST_F(CutDocument, ACutDocumentIsNotJudged) {
    many(5);
    set_document(101, "");
    set_document(102, "<file_info>\n<name>f</name>\n</file_info>\n<result>\n<file_ref><file_na");
    set_document(103, "<result><file_ref><file_name>../f</file_name></file_ref></result>");
    set_document(104, "<result>\n</result>\n");
    const RunResult r = validate();
    for (const char* line : {"[RESULT#101 w_101] not judged: result.xml_doc_in: it is empty",
                             "[RESULT#102 w_102] not judged: result.xml_doc_in: it ends without </result> (",
                             "[RESULT#103 w_103] not judged: result.xml_doc_in: '../f' is no name of an output file"})
        EXPECT_NE(r.err.find(line), std::string::npos) << r.err;
    EXPECT_EQ(number_of(db_, Sql("SELECT COUNT(*) FROM result WHERE validate_state=1 AND id IN (104,105)")), 2);
    EXPECT_EQ(valid(), 2);
    EXPECT_EQ(number_of(db_, Sql("SELECT COUNT(*) FROM result WHERE granted_credit>0 AND id < 104")), 0);
}

TEST_F(CutDocument, AfterWeekCutDocumentIsError) {
    make_workunit(2);
    returned(10, 1, 1, "same");
    returned(11, 1, 2, "same");
    set_document(11, "<result>\n<file_ref><file_na");
    all_reported(8 * 86400);
    LastingValidator lasting(project_.path(), db_);
    lasting.pass_after(0);
    EXPECT_EQ(results(), (Table{{"10", "5", "1", "0"}, {"11", "5", "1", "0"}})) << "it may have been cut just now";
    lasting.pass_after(LastingValidator::kDay);
    EXPECT_EQ(results(), (Table{{"10", "5", "1", "0"}, {"11", "5", "6", "2"}})) << "the good one waits for another";
    returned(12, 1, 3, "same");
    db_.execute(Sql("UPDATE workunit SET need_validate=1"));
    lasting.pass_after(LastingValidator::kDay);
    EXPECT_EQ(results(), (Table{{"10", "5", "1", "1"}, {"11", "5", "6", "2"}, {"12", "5", "1", "1"}}));
}

TEST_F(CutDocument, DocumentsCutTogetherWaitForReadableOnes) {
    many(10);
    db_.execute(Sql("UPDATE result SET xml_doc_in=REPLACE(xml_doc_in, '</result>', '')"));
    all_reported(8 * 86400);
    LastingValidator lasting(project_.path(), db_);
    lasting.pass_after(0);
    lasting.pass_after(LastingValidator::kDay);
    EXPECT_EQ(lost(), 0);
    EXPECT_EQ(count("need_validate=1 AND canonical_resultid=0"), 10);
    db_.execute(Sql("UPDATE result SET xml_doc_in=CONCAT(xml_doc_in, '</result>')"));
    lasting.pass_after(LastingValidator::kDay);
    EXPECT_EQ(valid(), 10) << "somebody mended them";
}

TEST_F(CutDocument, LateResultsDoNotWaitForCutCanonical) {
    make_workunit(1);
    returned(10, 1, 1, "same");
    validate();
    set_document(10, "");
    returned(11, 1, 2, "same");
    db_.execute(Sql("UPDATE workunit SET need_validate=1"));
    all_reported(8 * 86400);
    LastingValidator lasting(project_.path(), db_);
    lasting.pass_after(0);
    EXPECT_EQ(results(), (Table{{"10", "5", "1", "1"}, {"11", "5", "1", "0"}}));
    lasting.pass_after(LastingValidator::kDay);
    EXPECT_EQ(results(), (Table{{"10", "5", "1", "1"}, {"11", "5", "1", "5"}})) << "too late to be compared";
}

TEST_F(CutDocument, NothingIsAssimilatedWithDocumentNotWhole) {
    make_workunit(1);
    returned(10, 1, 1, "x");
    validate();
    write_collector();
    set_document(10, "");
    const RunResult assimilated =
        run_program({"script_assimilator", "--app", "a", "--one_pass", "--script", "collect wu_name files"});
    EXPECT_NE(assimilated.err.find("[WU#1 w] result.xml_doc_in: it is empty: collect is not called"),
              std::string::npos);
    EXPECT_FALSE(fs::exists(project_ / "calls"));
    EXPECT_EQ(count("assimilate_state=1"), 1);
}

TEST_F(CutDocument, TheScriptHearsOfAnUnmendedCanonical) {
    make_workunit(1);
    returned(10, 1, 1, "x");
    validate();
    write_collector();
    set_document(10, "<result>\n<file_ref><file_na");
    all_reported(8 * 86400);
    LastingAssimilator lasting(project_.path(), db_, "collect wu_name files");
    lasting.pass_after(0);
    EXPECT_FALSE(fs::exists(project_ / "calls")) << "it may have been cut just now";
    EXPECT_EQ(count("assimilate_state=1 AND error_mask=0"), 1);
    lasting.pass_after(LastingValidator::kDay);
    EXPECT_EQ(read_file(project_ / "calls").value_or(""), "--error 32 w 1 0\n");
    EXPECT_EQ(count("assimilate_state=2 AND error_mask=32 AND canonical_resultid=10"), 1);
}

TEST_F(CutDocument, CanonicalResultsCutTogetherAreKept) {
    many(10);
    validate();
    EXPECT_EQ(valid(), 10);
    write_collector();
    db_.execute(Sql("UPDATE result SET xml_doc_in=REPLACE(xml_doc_in, '</result>', '')"));
    all_reported(8 * 86400);
    LastingAssimilator lasting(project_.path(), db_, "collect wu_name files");
    lasting.pass_after(0);
    lasting.pass_after(LastingValidator::kDay);
    EXPECT_EQ(count("assimilate_state=1 AND error_mask=0"), 10);
    db_.execute(Sql("UPDATE result SET xml_doc_in=CONCAT(xml_doc_in, '</result>')"));
    lasting.pass_after(LastingValidator::kDay);
    EXPECT_EQ(count("assimilate_state=2 AND error_mask=0"), 10) << "somebody mended them";
    EXPECT_EQ(read_file(project_ / "calls").value_or("").find("--error"), std::string::npos);
}

TEST_F(CutDocument, OneThatCantBeMarkedStopsNoOther) {
    many(7);
    write_collector();
    db_.execute(Sql("UPDATE workunit SET need_validate=0, error_mask=2, assimilate_state=1"));
    db_.execute(
        Sql("CREATE TRIGGER broken_row BEFORE UPDATE ON workunit FOR EACH ROW IF OLD.name='m2' THEN "
            "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT='broken row'; END IF"));
    LastingAssimilator lasting(project_.path(), db_, "collect wu_name");
    EXPECT_THROW(lasting.pass_after(0), DbError);
    EXPECT_EQ(count("assimilate_state=2 AND name='m3'"), 1) << "it was handled together with m2";
    EXPECT_NO_THROW(lasting.pass_after(5));
    db_.execute(Sql("DROP TRIGGER broken_row"));
    EXPECT_EQ(count("assimilate_state=2"), 6);
    const std::string calls = read_file(project_ / "calls").value_or("");
    EXPECT_EQ(std::ranges::count(calls, '\n'), 7) << "each once: " << calls;
}

TEST_F(CutDocument, ScriptThatWantsNoFilesNeedsNoDocument) {
    make_workunit(1);
    returned(10, 1, 1, "x");
    validate();
    write_collector();
    set_document(10, "");
    LastingAssimilator lasting(project_.path(), db_, "collect wu_name");
    lasting.pass_after(0);
    EXPECT_EQ(read_file(project_ / "calls").value_or(""), "w\n");
    EXPECT_EQ(count("assimilate_state=2 AND error_mask=0"), 1);
}

}  // namespace
}  // namespace sluice::test
