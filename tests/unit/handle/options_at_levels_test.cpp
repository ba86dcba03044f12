// SPDX-License-Identifier: LGPL-3.0-or-later
// An option that is given works at both levels: two values are tried at level 0 and at level 1, and what can be
// observed must differ. Each option that has two defaults is here; where others are shown to have an effect says
// tests/lint/option_witnesses.txt. (That every option is loaded at both levels: config_test, OptionTable.)
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <unordered_map>

#include "config/option_table.h"
#include "daemons/batches/shares.h"
#include "db/memory/feeder_store.h"
#include "feeder/chain.h"
#include "sluice/base/log.h"
#include "sluice/share/logical_clock.h"
#include "tests/support/fake_db.h"
#include "tests/support/match_world.h"
#include "tests/support/rpc_world.h"

namespace sluice::test {
namespace {

using Observe = std::function<std::string(RpcWorld&)>;
struct Witness {
    std::string value, other;
    Observe observe;
    std::string more = {};  ///< other options that it needs
};

std::string names(const ReplyText& reply) { return testing::PrintToString(reply.result_names()); }

std::string how_many(RpcWorld& w) {
    const Id host = w.add_host();
    for (int i = 0; i < 12; ++i) w.add_job();
    return std::to_string(w.send(asking(host, 1e6)).result_names().size());
}

/// Priorities rise with the slots, or fall: what is sent of each.
std::string which(RpcWorld& w) {
    std::string sent;
    for (const bool rising : {true, false}) {
        const Id host = w.add_host();
        w.pool.slots.clear();
        w.rng = FixedRng(5);
        for (int i = 0; i < 10; ++i) w.add_job();
        for (int i = 0; i < 10; ++i) w.pool.slots[static_cast<std::size_t>(i)].job.priority = rising ? i : 10 - i;
        const std::string name = w.send(asking(host, 1)).result_names().at(0);
        for (int i = 0; i < 10; ++i)
            if (w.pool.slots[static_cast<std::size_t>(i)].doc.result_name == name) sent += std::to_string(i) + " ";
    }
    return sent;
}

std::string delay_while_database_fails(RpcWorld& w) {
    const Id host = w.add_host();
    w.db.before = [](const std::string&) { throw DbError(DbError::Kind::kCantConnect, 2002, "away"); };
    return w.send(asking(host, 1)).value("request_delay");
}

/// An accelerated job, and a host that returns jobs late.
std::string reserved(RpcWorld& w) {
    const Id host = w.add_host();
    HostAppVersion v;
    v.host_id = host;
    v.app_version_id = 1;
    v.turnaround.n = 5;
    v.max_jobs_per_day = 500;
    w.db.host_app_versions[{host, 1}] = v;
    w.db.apps[1].n_size_classes = 1;
    w.reload_tables();
    w.add_job([](Workunit& wu) { wu.priority = 1; });
    w.pool.slots[0].job.time_added = static_cast<std::int32_t>(w.clock.now_sec()) - 1000;
    return names(w.send(asking(host, 1)));
}

/// A job of a planned batch, by whose T no host can be done with it; then one of which it can.
std::string planned(RpcWorld& w) {
    std::string sent;
    for (const double left : {0.0, 50000.0}) {
        const Id host = w.add_host();
        w.pool.slots.clear();
        w.add_job();
        w.pool.slots[0].job.batch = 7;
        w.tables.plan = {1, w.clock.now(), {{7, w.clock.now() + left, 1, 1, 1, 1}}, {}};
        const ReplyText reply = w.send(asking(host, 1));
        sent += names(reply) + reply.value("report_deadline") + " ";
    }
    return sent;
}

/// A host of size class 1, and a job of each class in either order.
std::string sizes(RpcWorld& w) {
    std::string sent;
    for (const int first : {0, 1}) {
        const Id host = w.add_host();
        w.pool.slots.clear();
        w.rng = FixedRng(5);
        w.db.apps[1].n_size_classes = 2;
        w.reload_tables();
        w.tables.size_quantiles[1] = {1};
        for (const int size_class : {first, 1 - first}) {
            w.add_job();
            w.pool.slots.back().job.size_class = static_cast<std::int16_t>(size_class);
        }
        const std::string name = w.send(asking(host, 1)).result_names().at(0);
        for (const auto& slot : w.pool.slots)
            if (slot.doc.result_name == name) sent += std::to_string(slot.job.size_class) + " ";
    }
    return sent;
}

/// Batch 1 has the least logical end time, the user of batch 2 nearly all of the quotas.
std::string whose_turn(RpcWorld& w) {
    const Id host = w.add_host();
    w.tables.batch_shares = {{1, {1, 1.8e9, 1}}, {2, {2, 1.9e9, 1e9}}};
    for (int i = 0; i < 2; ++i) {
        w.add_job();
        w.pool.slots.back().job.batch = i + 1;
    }
    const std::string name = w.send(asking(host, 1)).result_names().at(0);
    return w.pool.slots[0].doc.result_name == name ? "the least" : "the drawn one";
}

/// What the feeder takes first of two jobs: the second one's batch has the lesser logical end time.
std::string first_of_the_feeder(RpcWorld& w) {
    const std::unordered_map<Id, BatchShare> shares = {{7, {1, 500, 1}}, {8, {2, 300, 1}}};
    const Id first = w.add_job(), second = w.add_job();
    w.db.results[first].batch = 7;
    w.db.results[second].batch = 8;
    MemoryFeederStore store(w.db.memory);
    FeederChain chain(w.config, {}, store, {w.clock, w.rng}, [](Id) { return false; });
    chain.set_apps({w.db.apps[1]});
    chain.set_batches(shares);
    chain.enumerator.turn(w.clock.now_sec(), false);
    const auto taken = chain.picker.take(chain.enumerator.backlog(), 0, {20, 0, 0, {}}, {});
    return taken ? std::to_string(taken->row.id - first) : "none";
}

/// How far before the work of others a user stands who comes to a project at work: his credit.
std::string start_of_a_newcomer(RpcWorld& w) {
    const auto settings = share_settings(w.config);
    if (!settings) return "off";
    const double now = 1.7e9;
    share::LogicalClock clock(settings->rule, settings->clamp);
    clock.set_quota(now, 1, 1);
    clock.submit(now, 1, 1, 1000);
    clock.set_quota(now, 2, 1);
    return std::to_string(now - clock.users().at(2).lst);
}

std::string lost(RpcWorld& w) {
    const Id host = w.add_host();
    w.add_in_progress(host);
    return names(w.send(asking(host, 1)));
}

std::string aborted(RpcWorld& w) {
    RequestText r = asking(w.add_host(), 0);
    r.others = {"never_heard_of"};
    return std::to_string(w.send(r).count("<result_abort>"));
}

std::string locked(RpcWorld& w) {
    MatchWorld m;
    m.params = w.config;
    m.pool.add(a_job(1));
    m.pool.add_locked();
    return m.match().stats.locked_over_limit ? "warned" : "";
}

std::string first_quota(RpcWorld& w) {
    const Id host = w.add_host();
    HostAppVersion v;
    v.host_id = host;
    v.app_version_id = 1;
    w.db.host_app_versions[{host, 1}] = v;
    w.send(asking(host, 1));
    return std::to_string(w.db.host_app_versions[{host, 1}].max_jobs_per_day);
}

std::string soon_again(RpcWorld& w) {
    const Id host = w.add_host();
    w.db.hosts[host].rpc_time = w.clock.now_sec() - 10;
    w.add_job();
    return names(w.send(asking(host, 1)));
}

std::string flag_of_reply(RpcWorld& w) {
    return w.send(asking(w.add_host(), 0)).has("<verify_files_on_app_start/>") ? "told" : "";
}

std::string time_to_report(RpcWorld& w) {
    const Id job = w.add_job();
    w.send(asking(w.add_host(), 1));
    return std::to_string(w.db.results.at(job).report_deadline);
}

/// With nothing in the array.
std::string database_asked(RpcWorld& w) {
    const Id host = w.add_host();
    const auto before = w.db.verbs;
    w.send(asking(host, 1));
    return w.db.verbs > before ? "asked" : "not asked";
}

std::string acknowledged(RpcWorld& w) {
    const Id host = w.add_host();
    RequestText r = asking(host, 0);
    for (int i = 0; i < 3; ++i) r.reported.push_back(w.add_in_progress(host).name);
    return std::to_string(w.send(r).count("<result_ack>"));
}

std::string fits_on_disk(RpcWorld& w) {
    w.add_job();
    return names(w.send(asking(w.add_host(), 1)));
}

/// A job that is meant for user 1, or for every host: what is sent of it, and whether its uploads are signed.
std::string meant_for(RpcWorld& w, bool all) {
    const Id host = w.add_host(), result = w.add_job(), wu = w.db.results[result].workunitid;
    w.db.results.erase(result);  // the scheduler makes it
    w.pool.slots.clear();
    w.db.assignments[1] = {1, all ? 0 : 1, all ? AssignTarget::kNone : AssignTarget::kUser, all, wu, 0};
    w.reload_tables();
    const ReplyText reply = w.send(asking(host, 5));
    return std::to_string(reply.result_names().size()) + (reply.has("<xml_signature>") ? " signed" : "");
}
std::string meant_for_one(RpcWorld& w) { return meant_for(w, false); }
std::string meant_for_all(RpcWorld& w) { return meant_for(w, true); }

Observe told(const std::string& element) {
    return [element](RpcWorld& w) {
        const ReplyText reply = w.send(asking(w.add_host(), 0));
        return reply.has("<" + element + "/>") ? "told" : reply.value(element);
    };
}

/// A second instance of a job: this host has the first, or another one of its user's.
std::string second_instance(RpcWorld& w, bool same_host) {
    const Id host = w.add_host(), other = w.add_host(), job = w.add_job();
    Result& first = w.add_in_progress(same_host ? host : other);
    first.workunitid = w.db.results[job].workunitid;
    RequestText request = asking(host, 1);
    if (same_host) request.others = {first.name};
    return names(w.send(request));
}

/// Of a batch that is another user's; committed to a class of hosts that this one is not of.
std::string of_another_user(RpcWorld& w) {
    w.add_job();
    w.pool.slots.back().job.batch = 77;
    return names(w.send(asking(w.add_host(), 1)));
}
std::string of_another_class(RpcWorld& w) {
    w.add_job([](Workunit& wu) { wu.hr_class = 385; });
    return names(w.send(asking(w.add_host(), 1)));
}

MatchWorld match_world(RpcWorld& w) {
    MatchWorld m;
    m.params = w.config;
    return m;
}

std::string keyword_points(RpcWorld& w) {
    MatchWorld m = match_world(w);
    m.user.keywords_yes = {1};
    m.pool.add(a_job(1).keywords({1}));
    m.match();
    const auto* row = m.trace.of(1);
    return row != nullptr && row->points.contains("keyword") ? std::to_string(row->points.at("keyword")) : "none";
}

std::string jobs_beside_gpus(RpcWorld& w) {
    MatchWorld m = match_world(w);
    m.host.coprocs = a_host().nvidia(2).get().coprocs;
    m.want(ProcType::kCpu, 1e9, 100);
    for (int i = 1; i <= 60; ++i) m.pool.add(a_job(i).flops(1e10));
    return std::to_string(m.match().jobs.size());
}

std::string jobs_for_a_gpu(RpcWorld& w) {
    MatchWorld m = match_world(w);
    m.host = a_host().nvidia(1);
    m.tables.versions.push_back(a_version(12, 1, "cuda_fermi"));
    m.want(ProcType::kCpu, 0, 0).want(ProcType::kNvidia, 1e9, 10);
    for (int i = 1; i <= 20; ++i) m.pool.add(a_job(i).flops(1e10));
    return std::to_string(m.match().jobs.size());
}

/// Of two versions, one twice as fast: which of them are ever chosen.
std::string versions_tried(RpcWorld& w) {
    std::set<Id> tried;
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        MatchWorld m = match_world(w);
        m.tables.versions.push_back(a_version(12, 1, "mt"));
        m.host = a_host().cpus(2);
        m.seed = seed;
        m.pool.add(a_job(1));
        for (const Chosen& c : m.match().jobs) tried.insert(c.version.app_version_id);
    }
    return testing::PrintToString(tried);
}

std::string log_of(RpcWorld& w) {
    w.add_job();
    log_start_copy();
    w.send(asking(w.add_host(), 1));
    return log_take_copy().find("Not using old scheduling") == std::string::npos ? "old" : "new";
}

/// URLs of the input file of a job; the project has three mirrors.
std::string urls(RpcWorld& w) {
    w.files().write("download_servers", "0 http://m1/\n36000 http://m2/\n39600 http://m3/\n");
    w.reload_files();
    w.add_job();
    const ReplyText reply = w.send(asking(w.add_host(), 1));
    std::string all;
    for (const char* mirror : {"http://m1/", "http://m2/", "http://m3/"}) all += reply.has(mirror) ? "1" : "0";
    return all;
}

std::string amd_k6(RpcWorld& w) {
    w.add_job();
    const Id host = w.add_host();
    RequestText request = asking(host, 1);
    std::string text = request.text();
    const auto put = [&](const std::string& old, const std::string& value) {
        const auto at = text.find(old);
        EXPECT_NE(at, std::string::npos) << old;
        text.replace(at, old.size(), value);
    };
    put("GenuineIntel", "AuthenticAMD");
    put("<p_model>Xeon", "<p_model>AMD-K6(tm) 3D processor [Family 5 Model 8 Stepping 0]");
    return names(w.send(text));
}

/// The same machine by its description, twice without its host id.
std::string found_again(RpcWorld& w) {
    RequestText r;
    w.send(r);
    r.cpid = "another";
    w.send(r);
    return std::to_string(w.db.hosts.size());
}

const std::map<std::string, Witness, std::less<>>& witnesses() {
    static const std::map<std::string, Witness, std::less<>> all{
        {"share_rule", {"off", "settled", first_of_the_feeder}},
        {"share_clamp", {"3600", "7200", start_of_a_newcomer, "<share_rule>settled</share_rule>"}},
        {"share_floor", {"0", "1", whose_turn}},
        {"daily_result_quota", {"3", "50", first_quota}},
        {"max_ncpus", {"1", "3", how_many, "<max_wus_to_send>1</max_wus_to_send>"}},
        {"max_wus_to_send", {"1", "2", how_many}},
        {"min_sendwork_interval", {"0", "60", soon_again}},
        {"batch_accel", {"0", "1", reserved, "<ltt_reserve_timeout>0</ltt_reserve_timeout>"}},
        {"plan_batches", {"0", "1", planned}},
        {"ltt_reserve_timeout", {"0", "900", reserved, "<batch_accel>1</batch_accel>"}},
        {"size_classes", {"0", "1", sizes}},
        {"workload_sim",
         {"0", "1",
          [](RpcWorld& w) { return w.send(asking(w.add_host(), 1)).has("<send_full_workload/>") ? "1" : "0"; }}},
        {"resend_lost_results", {"0", "1", lost}},
        {"send_result_abort", {"0", "1", aborted}},
        {"mm_min_slots", {"0", "1", which}},
        {"mm_max_slots", {"0", "1", which, "<mm_min_slots>0</mm_min_slots>"}},
        {"mm_max_locked", {"0", "1", locked}},
        {"verify_files_on_app_start", {"0", "1", flag_of_reply}},
        {"report_grace_period", {"0", "100", time_to_report}},
        {"grace_period_hours", {"0", "100", time_to_report}},
        {"enable_vda", {"0", "1", database_asked, "<nowork_skip>1</nowork_skip>"}},
        {"msg_to_host", {"0", "1", database_asked, "<nowork_skip>1</nowork_skip>"}},
        {"nowork_skip", {"0", "1", database_asked}},
        {"max_results_accepted", {"2", "3", acknowledged}},
        {"report_max", {"2", "3", acknowledged}},
        {"default_disk_min_free_gb", {"1", "100000", fits_on_disk}},
        {"dont_send_jobs", {"0", "1", fits_on_disk}},
        {"maintenance_delay", {"100", "200", delay_while_database_fails}},
        {"sched_old", {"0", "1", log_of, "<debug_send>1</debug_send>"}},
        {"replace_download_url_by_timezone", {"http://127.0.0.1/", "http://elsewhere/", urls}},
        {"max_download_urls_per_file",
         {"1", "2", urls, "<replace_download_url_by_timezone>http://127.0.0.1/</replace_download_url_by_timezone>"}},
        {"no_amd_k6", {"0", "1", amd_k6}},
        {"dont_search_host_for_user", {"1", "2", found_again}},
        {"enable_assignment", {"0", "1", meant_for_one}},
        {"enable_assignment_multi", {"0", "1", meant_for_all}},
        {"dont_generate_upload_certificates", {"0", "1", meant_for_one, "<enable_assignment>1</enable_assignment>"}},
        {"ended", {"0", "1", told("ended")}},
        {"strict_memory_bound", {"0", "1", told("strict_memory_bound")}},
        {"symstore", {"http://a/", "http://b/", told("symstore")}},
        {"long_name", {"One", "Another", told("project_name")}},
        {"master_url", {"http://a/", "http://b/", told("master_url")}},
        {"ban_os", {"Plan 9", "Linux Deb.*", fits_on_disk}},
        {"ban_cpu", {"VAX", "Intel", fits_on_disk}},
        {"min_core_client_version", {"70000", "90000", fits_on_disk}},
        {"max_wus_in_progress", {"1", "2", how_many, "<max_wus_to_send>100</max_wus_to_send>"}},
        {"max_wus_in_progress_gpu", {"1", "3", jobs_for_a_gpu}},
        {"non_cpu_intensive", {"0", "1", how_many, "<max_wus_to_send>1</max_wus_to_send>"}},
        {"one_result_per_host_per_wu", {"0", "1", [](RpcWorld& w) { return second_instance(w, true); }}},
        {"one_result_per_user_per_wu", {"0", "1", [](RpcWorld& w) { return second_instance(w, false); }}},
        {"user_filter", {"0", "1", of_another_user}},
        {"homogeneous_redundancy", {"0", "1", of_another_class}},
        {"keyword_sched", {"0", "1", keyword_points}},
        {"gpu_multiplier", {"1", "3", jobs_beside_gpus, "<max_wus_to_send>2</max_wus_to_send>"}},
        {"version_select_random_factor", {"0", "1", versions_tried}},
        {"score_weights",
         {"<result_priority>5</result_priority>", "<result_priority>-5</result_priority>", which,
          "<mm_min_slots>0</mm_min_slots>"}},
    };
    return all;
}

class OptionAtLevel : public testing::TestWithParam<int> {};

TEST_P(OptionAtLevel, HasAnEffect) {
    for (const auto& [option, w] : witnesses()) {
        SCOPED_TRACE(option);
        const auto with = [&option = option,
                           &w = w](const std::string& value) {  // clang 14 does not capture bindings itself
            RpcWorld world("<" + option + ">" + value + "</" + option + ">" + w.more, GetParam());
            return w.observe(world);
        };
        const std::string one = with(w.value);
        EXPECT_EQ(with(w.value), one) << "the observation itself must be repeatable";
        EXPECT_NE(with(w.other), one);
    }
}

INSTANTIATE_TEST_SUITE_P(Levels, OptionAtLevel, testing::Values(0, 1));

TEST(OptionAtLevel, EveryOptionWithTwoDefaultsHasItsWitness) {
    // Other programs read these: tests/lint/option_witnesses.txt.
    const std::set<std::string, std::less<>> elsewhere{"shmem_work_items", "feeder_query_size", "cache_md5_info",
                                                       "hide_incomplete_uploads"};
    int with_two = 0;
    for (const OptionSection& section : option_sections())
        for (const OptionRow& row : section.rows) {
            if (row.level0 == row.level1 || row.tag == "compat_level") continue;
            ++with_two;
            EXPECT_NE(witnesses().contains(row.tag), elsewhere.contains(row.tag)) << row.tag;
        }
    EXPECT_GE(with_two, 10);
}

}  // namespace
}  // namespace sluice::test
