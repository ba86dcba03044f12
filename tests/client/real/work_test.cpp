// SPDX-License-Identifier: LGPL-3.0-or-later
// The life of jobs on a real client: attached, fetched, run, uploaded, reported; trickle messages both ways.
#include <fstream>

#include "sluice/base/files.h"
#include "tests/client/real/real_client.h"

namespace sluice::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

using Work = RealClient;

TEST_F(Work, AJobIsFetchedRunUploadedAndReported) {
    const Id job = world_.add_job("wait /");
    Volunteer v(world_, key_);
    v.attach();
    ASSERT_TRUE(v.update_until([&] { return server_state(job) == 5; })) << v.log() << world_.scheduler_log();
    EXPECT_THAT(
        result(
            job,
            "outcome, exit_status, client_state, hostid, userid, app_version_num, received_time>=sent_time, elapsed_time>0",
            8),
        ElementsAre("1", "0", "5", std::to_string(v.host_id()), std::to_string(world_.user_id(name_)), "100", "1",
                    "1"));
    EXPECT_THAT(result(job, "stderr_out", 1).front(), HasSubstr("copied"));
    // Its output was uploaded under the name that the server chose.
    const std::string document = result(job, "xml_doc_in", 1).front();
    const std::string file =
        document.substr(document.find("<name>") + 6, document.find("</name>") - document.find("<name>") - 6);
    std::ifstream in(fanout_path(world_.root() / "upload", file, 1024));
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "what the job gets\n") << file;
    // The acknowledgement: the client has forgotten the job.
    EXPECT_TRUE(wait_until([&] { return v.count("<result>") == 0; })) << v.client().state();
    EXPECT_EQ(v.complaints(), "");
    // What the client says of itself is what the database holds.
    const auto host =
        rows_of(world_.db(),
                Sql("SELECT p_ncpus, os_name, p_model, userid, rpc_seqno>0 FROM host WHERE id=") << v.host_id(), 5);
    ASSERT_EQ(host.size(), 1u);
    EXPECT_THAT(host.front(), ElementsAre(v.in_state("p_ncpus"), v.in_state("os_name"), v.in_state("p_model"),
                                          std::to_string(world_.user_id(name_)), "1"));
    EXPECT_THAT(v.in_state("user_name"), name_);
    EXPECT_THAT(v.in_state("project_name"), "Real clients");
}

TEST_F(Work, AWrongKeyIsTold) {
    const auto hosts = world_.number(Sql("SELECT COUNT(*) FROM host"));
    Volunteer v(world_, "ffffffffffffffffffffffffffffffff");
    v.client().attach(world_.url(), "ffffffffffffffffffffffffffffffff");
    EXPECT_TRUE(wait_until([&] { return v.said("nvalid or missing account key"); })) << v.log();
    EXPECT_EQ(v.host_id(), 0);
    EXPECT_EQ(world_.number(Sql("SELECT COUNT(*) FROM host")), hosts);
}

TEST_F(Work, AFailedJobReportsStatusAndMessage) {
    const Id job = world_.add_job("fail 17");
    Volunteer v(world_, key_);
    v.attach();
    ASSERT_TRUE(v.update_until([&] { return server_state(job) == 5; })) << v.log();
    EXPECT_THAT(result(job, "outcome, exit_status, client_state, validate_state", 4), ElementsAre("3", "17", "3", "2"));
    EXPECT_THAT(result(job, "stderr_out", 1).front(), HasSubstr("obeying fail"));
    EXPECT_TRUE(wait_until([&] { return v.count("<result>") == 0; }));
}

TEST_F(Work, TricklesGoBothWays) {
    const Id job = world_.add_job("trickle halfway wait " + world_.control_file("heard-it") + " hear " +
                                  world_.control_file("ear") + " wait " + world_.control_file("done"));
    Volunteer v(world_, key_);
    v.attach();
    ASSERT_TRUE(v.update_until([&] { return world_.number(Sql("SELECT COUNT(*) FROM msg_from_host")) > 0; }))
        << v.log();
    const auto up =
        rows_of(world_.db(), Sql("SELECT hostid, variety, handled, create_time>0, xml FROM msg_from_host"), 5);
    ASSERT_EQ(up.size(), 1u);
    EXPECT_THAT(std::vector(up.front().begin(), up.front().end() - 1),
                ElementsAre(std::to_string(v.host_id()), "steered", "0", "1"));
    EXPECT_THAT(up.front().back(), AllOf(HasSubstr("<text>halfway</text>"), HasSubstr(job_name(job))));
    // Acknowledged: the client does not send it a second time.
    ASSERT_TRUE(v.one_more_rpc());
    ASSERT_TRUE(v.one_more_rpc());
    EXPECT_EQ(world_.number(Sql("SELECT COUNT(*) FROM msg_from_host")), 1);

    const std::string document = "<trickle_down>\n<result_name>" + job_name(job) +
                                 "</result_name>\n<text>\nturn left\n</text>\n</trickle_down>\n";
    world_.db().execute(Sql("INSERT INTO msg_to_host SET create_time=1, hostid=")
                        << v.host_id() << ", variety='steered', handled=0, xml=" << SqlBlob{document});
    world_.release("heard-it");
    std::string heard;
    EXPECT_TRUE(v.update_until([&] {
        const RightsToAllFiles rights;
        std::ifstream in(world_.control_file("ear"));
        heard.assign(std::istreambuf_iterator<char>(in), {});
        return !heard.empty();
    })) << v.log();
    EXPECT_THAT(heard, HasSubstr("turn left"));
    EXPECT_EQ(world_.number(Sql("SELECT COUNT(*) FROM msg_to_host WHERE handled=1")), 1);
    world_.release("done");
    ASSERT_TRUE(v.update_until([&] { return server_state(job) == 5; })) << v.log();
    EXPECT_EQ(outcome(job), 1);
    EXPECT_EQ(v.complaints(), "");
}

}  // namespace
}  // namespace sluice::test
