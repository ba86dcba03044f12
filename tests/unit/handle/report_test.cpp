// SPDX-License-Identifier: LGPL-3.0-or-later
// Reported results: which are accepted, and what is stored of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/rpc_world.h"

namespace sluice::test {
namespace {

struct Case {
    const char* what;
    std::function<void(RpcWorld&, Result&)> change;
    bool accepted;
};

class Reported : public ::testing::TestWithParam<Case> {};
TEST_P(Reported, IsAcceptedOrNotAndAlwaysAcknowledged) {
    RpcWorld w;
    const Id host = w.add_host();
    Result& r = w.add_in_progress(host);
    GetParam().change(w, r);
    const Result before = r;
    const std::string name = r.name;
    RequestText request;
    request.hostid = host;
    request.reported = {name};
    const ReplyText reply = w.send(request);
    EXPECT_EQ(reply.count("<result_ack>\n    <name>" + name), 1) << reply.text();
    const Result& after = w.db.results[before.id];
    if (GetParam().accepted) {
        EXPECT_EQ(after.server_state, ServerState::kOver);
        EXPECT_EQ(after.outcome, Outcome::kSuccess);
        EXPECT_EQ(after.received_time, w.clock.now_sec());
        EXPECT_EQ(after.hostid, host);
        EXPECT_EQ(w.db.workunits[after.workunitid].transition_time, w.clock.now_sec());
        EXPECT_NE(after.stderr_out.find("stderr of " + name), std::string::npos);
        EXPECT_NE(after.xml_doc_out.find("out_" + name), std::string::npos);
    } else {
        EXPECT_EQ(after.server_state, before.server_state);
        EXPECT_EQ(after.outcome, before.outcome);
        EXPECT_EQ(after.stderr_out, "");
        EXPECT_EQ(w.db.workunits[after.workunitid].transition_time, kNever);
    }
}

auto over(Outcome outcome) {
    return [outcome](RpcWorld&, Result& r) {
        r.server_state = ServerState::kOver;
        r.outcome = outcome;
    };
}
INSTANTIATE_TEST_SUITE_P(
    States, Reported,
    ::testing::Values(
        Case{"in_progress", [](RpcWorld&, Result&) {}, true}, Case{"late", over(Outcome::kNoReply), true},
        Case{"detached", over(Outcome::kClientDetached), true},
        Case{"detached_and_received",
             [](RpcWorld& w, Result& r) {
                 over(Outcome::kClientDetached)(w, r);
                 r.received_time = 5;
             },
             false},
        Case{"success", over(Outcome::kSuccess), false}, Case{"error", over(Outcome::kClientError), false},
        Case{"not_needed", over(Outcome::kDidntNeed), false}, Case{"couldnt_send", over(Outcome::kCouldntSend), false},
        Case{"validate_error", over(Outcome::kValidateError), false}, Case{"never_sent", over(Outcome::kInit), false},
        Case{"unsent", [](RpcWorld&, Result& r) { r.server_state = ServerState::kUnsent; }, false},
        Case{"inactive", [](RpcWorld&, Result& r) { r.server_state = ServerState::kInactive; }, false},
        Case{"own_other_host", [](RpcWorld& w, Result& r) { r.hostid = w.add_host(1); }, true},
        Case{"another_users", [](RpcWorld& w, Result& r) { r.hostid = w.add_host(w.add_user("bob", "k").id); }, false},
        Case{"of_a_vanished_host", [](RpcWorld&, Result& r) { r.hostid = 999; }, false}),
    [](const auto& tested) { return std::string(tested.param.what); });

std::string result_element(const std::string& name, const std::string& fields) {
    return "<result>\n<name>" + name + "</name>\n" + fields + "</result>\n";
}

struct Times {
    const char* what;
    double cpu, elapsed, stored_cpu, stored_elapsed;
};
class Sanitized : public ::testing::TestWithParam<Times> {};
TEST_P(Sanitized, Times) {  // sent 1000 s ago, 4 CPUs
    RpcWorld w;
    const Id host = w.add_host();
    const Result r = w.add_in_progress(host);
    RequestText request;
    request.hostid = host;
    request.more =
        result_element(r.name, fmt::format("<final_cpu_time>{}</final_cpu_time><final_elapsed_time>{}"
                                           "</final_elapsed_time><exit_status>0</exit_status><state>5</state>",
                                           GetParam().cpu, GetParam().elapsed));
    w.send(request);
    EXPECT_DOUBLE_EQ(w.db.results[r.id].cpu_time, GetParam().stored_cpu);
    EXPECT_DOUBLE_EQ(w.db.results[r.id].elapsed_time, GetParam().stored_elapsed);
}
INSTANTIATE_TEST_SUITE_P(Table, Sanitized,
                         ::testing::Values(Times{"plain", 10, 20, 10, 20}, Times{"elapsed_below_cpu", 30, 20, 30, 30},
                                           Times{"negative", -5, -3, -5, 0}, Times{"no_elapsed", 7, 0, 7, 7},
                                           Times{"longer_than_out", 10, 5000, 10, 1000},
                                           Times{"too_much_cpu", 9000, 5000, 4000, 1000}),
                         [](const auto& tested) { return std::string(tested.param.what); });

struct Quota {
    const char* what;
    int before, after;
    const char* fields;
    int valid_after;
    int compat_level = 0;
};
class QuotaAfter : public ::testing::TestWithParam<Quota> {};
TEST_P(QuotaAfter, Report) {
    RpcWorld w("", GetParam().compat_level);
    const Id host = w.add_host();
    const Result r = w.add_in_progress(host);
    HostAppVersion v;
    v.host_id = host;
    v.app_version_id = 1;
    v.max_jobs_per_day = GetParam().before;
    v.consecutive_valid = 8;
    w.db.host_app_versions[{host, 1}] = v;
    RequestText request;
    request.hostid = host;
    request.more = result_element(r.name, GetParam().fields);
    w.send(request);
    EXPECT_EQ((w.db.host_app_versions[{host, 1}].max_jobs_per_day), GetParam().after);
    EXPECT_EQ((w.db.host_app_versions[{host, 1}].consecutive_valid), GetParam().valid_after);
}
const char* const kGood = "<exit_status>0</exit_status><state>5</state>";
const char* const kBad = "<exit_status>1</exit_status><state>3</state>";
INSTANTIATE_TEST_SUITE_P(
    Table, QuotaAfter,
    ::testing::Values(Quota{"doubles", 100, 200, kGood, 8}, Quota{"up_to_the_quota", 400, 500, kGood, 8},
                      Quota{"beyond_stays", 600, 600, kGood, 8}, Quota{"error_lowers", 100, 99, kBad, 0},
                      Quota{"error_cuts_to_quota", 600, 499, kBad, 0}, Quota{"never_below_one", 1, 1, kBad, 0},
                      Quota{"aborted_by_project", 100, 100, "<exit_status>202</exit_status><state>6</state>", 8},
                      Quota{"unstarted_late", 100, 100, "<exit_status>200</exit_status><state>6</state>", 8},
                      Quota{"unstarted_late_1", 100, 100, "<exit_status>200</exit_status><state>6</state>", 8, 1},
                      Quota{"initialised", 0, 500, kGood, 8}, Quota{"no_exit_status", 100, 99, "<state>5</state>", 0},
                      Quota{"no_exit_status_1", 100, 99, "<state>5</state>", 0, 1}),
    [](const auto& tested) { return std::string(tested.param.what); });

// A client that the project has told to abort a job says so; of a job that nobody has given up it is an error.
TEST(Report, AnAbortIsBelievedOfCancelledJobsOnly) {
    for (const int level : {0, 1})
        for (const bool given_up : {false, true}) {
            RpcWorld w("", level);
            const Id host = w.add_host();
            const Result r = w.add_in_progress(host);
            if (given_up)
                w.db.results[r.id].server_state = ServerState::kOver, w.db.results[r.id].outcome = Outcome::kNoReply;
            RequestText request;
            request.hostid = host;
            request.more = result_element(r.name, "<exit_status>202</exit_status><state>6</state>");
            w.send(request);
            const Result& after = w.db.results[r.id];
            EXPECT_EQ(after.outcome, level == 1 && given_up ? Outcome::kNoReply : Outcome::kClientError);
            EXPECT_EQ(after.exit_status, 202);
            EXPECT_GT(after.received_time, 0);
        }
}

TEST(Report, ErrorsAreStoredAsInvalid) {
    RpcWorld w;
    const Id host = w.add_host();
    const Result r = w.add_in_progress(host);
    RequestText request;
    request.hostid = host;
    request.more = result_element(r.name,
                                  "<exit_status>-185</exit_status><state>3</state><app_version_num>100"
                                  "</app_version_num><final_peak_working_set_size>50000000.4"
                                  "</final_peak_working_set_size><final_peak_swap_size>60000000.6"
                                  "</final_peak_swap_size><final_peak_disk_usage>70000000.5</final_peak_disk_usage>");
    w.send(request);
    const Result& after = w.db.results[r.id];
    EXPECT_EQ(after.outcome, Outcome::kClientError);
    EXPECT_EQ(after.validate_state, ValidateState::kInvalid);
    EXPECT_EQ(after.client_state, ClientState::kComputeError);
    EXPECT_EQ(after.exit_status, -185);
    EXPECT_EQ(after.peak_working_set_size, 5e7) << "whole bytes, as upstream stores them";
    EXPECT_EQ(after.peak_swap_size, 60000001);
    EXPECT_EQ(after.peak_disk_usage, 7e7);
}

TEST(Report, WithoutQuotaErrorDoesNotStopHost) {
    RpcWorld w("<daily_result_quota>0</daily_result_quota>");
    const Id host = w.add_host();
    const Result r = w.add_in_progress(host);
    w.db.host_app_versions[{host, 1}] = {host, 1, 0, 0, {}, 0, 0, {}, 8};
    RequestText request;
    request.hostid = host;
    request.more = result_element(r.name, kBad);
    w.send(request);
    EXPECT_EQ((w.db.host_app_versions[{host, 1}].max_jobs_per_day), 0);
    EXPECT_EQ((w.db.host_app_versions[{host, 1}].consecutive_valid), 0);
}

TEST(Report, MoreThanReportMaxWaits) {
    RpcWorld w("<report_max>2</report_max>");
    const Id host = w.add_host();
    RequestText request;
    request.hostid = host;
    for (int i = 0; i < 3; ++i) request.reported.push_back(w.add_in_progress(host).name);
    EXPECT_EQ(w.send(request).count("<result_ack>"), 2);
    EXPECT_EQ(w.db.results[3].server_state, ServerState::kInProgress);
}

TEST(Report, StderrOfSuccessMayBeDropped) {
    RpcWorld w("<dont_store_success_stderr>1</dont_store_success_stderr>");
    const Id host = w.add_host();
    const Result r = w.add_in_progress(host);
    RequestText request;
    request.hostid = host;
    request.reported = {r.name};
    w.send(request);
    EXPECT_EQ(w.db.results[r.id].stderr_out, "");
}

TEST(Report, UnknownNamesAreAcknowledged) {
    RpcWorld w;
    RequestText request;
    request.hostid = w.add_host();
    request.reported = {"unknown", "x' OR '1'='1"};
    EXPECT_EQ(w.send(request).count("<result_ack>"), 2);
}

TEST(Report, ANewDayStartsAtZero) {
    RpcWorld w;
    const Id host = w.add_host();
    w.db.hosts[host].rpc_time = w.clock.now_sec() - 365 * 86400;  // the same day of the year
    w.db.host_app_versions[{host, 1}] = {host, 1, 0, 0, {}, 500, 77, {}, 0};
    RequestText request;
    request.hostid = host;
    w.send(request);
    EXPECT_EQ((w.db.host_app_versions[{host, 1}].n_jobs_today), 0);
    w.db.host_app_versions[{host, 1}].n_jobs_today = 5;
    request.seqno = 1;
    w.send(request);
    EXPECT_EQ((w.db.host_app_versions[{host, 1}].n_jobs_today), 5) << "the same day";
}

/// Reading them is half of what such a request costs the database.
TEST(Report, APresentHostNeedsNoVersions) {
    RpcWorld w("<daily_result_quota>9</daily_result_quota>");
    const Id host = w.add_host();
    w.db.host_app_versions[{host, 1}] = {host, 1, 0, 0, {}, 0, 0, {}, 0};
    int read = 0;
    w.db.before = [&](const std::string& verb) { read += verb == "host_states.load" ? 1 : 0; };
    RequestText request;
    request.hostid = host;
    w.send(request);
    EXPECT_EQ(read, 0);
    EXPECT_EQ((w.db.host_app_versions[{host, 1}].max_jobs_per_day), 0);
    request.seqno = 1;
    request.reported = {"unknown"};
    w.send(request);
    EXPECT_EQ(read, 1);
    EXPECT_EQ((w.db.host_app_versions[{host, 1}].max_jobs_per_day), 9) << "before it matters";
    request.seqno = 2;
    request.reported = {};
    w.db.hosts[host].rpc_time -= 365 * 86400;
    w.send(request);
    EXPECT_EQ(read, 2) << "a new day";
}

}  // namespace
}  // namespace sluice::test
