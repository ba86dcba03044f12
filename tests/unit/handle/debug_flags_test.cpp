// SPDX-License-Identifier: LGPL-3.0-or-later
// Each debug flag of config.xml adds lines to the log, with upstream's tag; without flags there are few lines an RPC.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/option_table.h"
#include "sluice/base/log.h"
#include "tests/support/project_rows.h"
#include "tests/support/rpc_world.h"

namespace sluice::test {
namespace {

using ::testing::HasSubstr;

/// A host that asks for work with everything that a flag may want to tell of, loses a job, and has one meant for it.
std::string log_with(const std::string& flags) {
    RpcWorld w(
        "<workload_sim>1</workload_sim><keyword_sched>1</keyword_sched><resend_lost_results>1"
        "</resend_lost_results><enable_assignment>1</enable_assignment>" +
        flags);
    w.db.apps[1].locality_scheduling = 1;
    w.reload_tables();
    const Id host = w.add_host();
    w.db.hosts[host].m_nbytes = 8e9;
    w.db.host_app_versions[{host, 1}] = {host, 1, 0, 0, {}, 0, 0, {}, 8};
    for (int i = 0; i < 3; ++i) w.add_job([](Workunit& job) { job.keywords = "7"; });
    const Result& reported = w.add_in_progress(host);
    RequestText r;
    r.hostid = host;
    r.seqno = 1;
    r.work_seconds = 15;
    r.reported = {reported.name, "unknown_result"};
    r.more =
        "<user_keywords><yes>7</yes></user_keywords><file_info><name>in_wu_1</name><nbytes>34</nbytes><sticky/>"
        "</file_info><in_progress_results><ip_result><name>other</name><report_deadline>1700009000</report_deadline>"
        "<time_remaining>50</time_remaining></ip_result></in_progress_results>";
    log_start_copy();
    EXPECT_FALSE(w.send(r).result_names().empty());
    r.seqno = 2;
    r.reported.clear();  // and lists nothing: what it was just sent is lost
    EXPECT_TRUE(w.send(r).has("Resent lost task"));
    const Workunit job = a_workunit(w.db.workunits.next_key(), w.clock.now_sec());
    w.db.workunits[job.id] = job;
    w.db.assignments[1] = {};
    w.db.assignments[1].id = 1;
    w.db.assignments[1].target_type = AssignTarget::kHost;
    w.db.assignments[1].target_id = host;
    w.db.assignments[1].workunitid = job.id;
    r.seqno = 3;
    r.list_others = false;
    EXPECT_EQ(w.send(r).result_names().size(), 1u);
    return log_take_copy();
}

/// Lines without their time, and how often each is there. How long the scheduler ran is another number each time.
std::map<std::string, int> lines_of(const std::string& log) {
    std::map<std::string, int> lines;
    std::istringstream in(log);
    for (std::string line; std::getline(in, line);)
        if (line.find(" Scheduler ran ") == std::string::npos)
            ++lines[line.substr(std::min<std::size_t>(28, line.size()))];
    return lines;
}

struct Flag {
    const char *name, *tag;
};
void PrintTo(const Flag& f, std::ostream* out) { *out << f.name; }
constexpr Flag kFlags[] = {{"debug_assignment", "[assign] "},
                           {"debug_client_files", "[client_files] "},
                           {"debug_credit", "[credit] "},
                           {"debug_edf_sim_detail", "[edf_detail] "},
                           {"debug_edf_sim_workload", "[edf_workload] "},
                           {"debug_handle_results", "[handle] "},
                           {"debug_keyword", "[keyword] "},
                           {"debug_locality", "[locality] "},
                           {"debug_locality_lite", "[loc_lite] "},
                           {"debug_prefs", "[prefs] "},
                           {"debug_quota", "[quota] "},
                           {"debug_request_details", "Request details: "},
                           {"debug_resend", "[resend] "},
                           {"debug_send", "[send] "},
                           {"debug_send_job", "[send_job] "},
                           {"debug_send_scan", "[send_scan] "},
                           {"debug_user_messages", "[user_messages] "},
                           {"debug_vda", "[vda] "},
                           {"debug_version_select", "[version] "}};

class DebugFlag : public ::testing::TestWithParam<Flag> {};
TEST_P(DebugFlag, AddsLinesWithItsTag) {
    const auto without = lines_of(log_with(""));
    auto with = lines_of(log_with(fmt::format("<{0}>1</{0}>", GetParam().name)));
    for (const auto& [line, n] : without) with[line] -= n;
    int added = 0;
    for (const auto& [line, n] : with) {
        EXPECT_GE(n, 0) << "missing: " << line;
        if (n == 0) continue;
        EXPECT_THAT(line, HasSubstr(GetParam().tag));
        added += n;
    }
    EXPECT_GT(added, 0);
    for (const auto& [line, n] : without) EXPECT_THAT(line, testing::Not(HasSubstr(GetParam().tag)));
}
INSTANTIATE_TEST_SUITE_P(All, DebugFlag, ::testing::ValuesIn(kFlags),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST(DebugFlags, NoneIsForgotten) {
    std::set<std::string> tested{"debug_req_reply_dir", "debug_request_headers", "debug_fcgi"};  // cgi_test Debugging
    for (const Flag& flag : kFlags) tested.insert(flag.name);
    std::set<std::string> known;
    for (const OptionSection& section : option_sections())
        for (const OptionRow& row : section.rows)
            if (row.tag.starts_with("debug_")) known.emplace(row.tag);
    EXPECT_EQ(known, tested);
}

TEST(Logged, RequestAndReplyUnderTheHostsNumber) {
    RpcWorld w;
    w.add_job();
    log_start_copy();
    RequestText r;
    r.work_seconds = 5;
    w.send(r);
    const std::string log = log_take_copy();
    EXPECT_THAT(log, HasSubstr(" Request: [USER#1] [HOST#1] [IP 10.1.2.3] client 8.0.2\n"));
    EXPECT_THAT(log, HasSubstr(" Sending reply to [HOST#1]: 1 results, delay req 0.00\n"));
    EXPECT_THAT(log, testing::ContainsRegex(" Scheduler ran [0-9]+\\.[0-9]{3} seconds\n"));
    EXPECT_THAT(log, testing::Not(HasSubstr("HOST#0")));
}

TEST(Logged, TheDelayThatTheReplyCarries) {
    RpcWorld w("<min_sendwork_interval>6</min_sendwork_interval>");
    log_start_copy();
    const ReplyText reply = w.send(RequestText{});
    EXPECT_THAT(log_take_copy(), HasSubstr("results, delay req 7.00\n"));
    EXPECT_EQ(reply.value("request_delay"), "7.000000");
}

}  // namespace
}  // namespace sluice::test
