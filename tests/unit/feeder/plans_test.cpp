// SPDX-License-Identifier: LGPL-3.0-or-later
// The feeder's pure parts: slot plan, HR quotas, census files, submitters' turns, what gives way.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "feeder/census_reader.h"
#include "feeder/command.h"
#include "feeder/picker.h"
#include "feeder/reclaim.h"
#include "feeder/slot_filler.h"
#include "feeder/starvation.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/match/job_summary_of.h"
#include "tests/support/fixed_rng.h"
#include "tests/support/temp_dir.h"

namespace sluice::test {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

TEST(SlotPlan, FollowsUpstreamsExamples) {
    EXPECT_THAT(interleave({3, 1}, 8), ElementsAre(0, 1, 0, 0, 0, 1, 0, 0));
    EXPECT_THAT(interleave({1, 1, 2}, 8), ElementsAre(0, 1, 2, 2, 0, 1, 2, 2));
}

TEST(SlotPlan, ZeroWeightsGetNothingUnlessAllAreZero) {
    EXPECT_THAT(interleave({0, 2, 0}, 50), Each(1u));
    EXPECT_THAT(interleave({0, 0}, 4), ElementsAre(0, 1, 0, 1));
    EXPECT_THAT(interleave({-1, std::nan(""), 1}, 5), Each(2u));
    EXPECT_THAT(interleave({}, 5), IsEmpty());
}

TEST(SlotPlan, EveryStretchHoldsAboutTheShares) {
    const std::vector<double> weights{5, 3, 1, 0.5};
    const auto plan = interleave(weights, 9500);
    for (std::size_t start = 0; start + 950 <= plan.size(); start += 190) {
        for (std::size_t app = 0; app < weights.size(); ++app) {
            const auto n = std::count(plan.begin() + static_cast<std::ptrdiff_t>(start),
                                      plan.begin() + static_cast<std::ptrdiff_t>(start + 950), app);
            EXPECT_NEAR(static_cast<double>(n), 100 * weights[app], 3) << start << " app " << app;
        }
    }
}

TEST(SlotPlan, AnyBeginningOfSpreadSlotsLiesEvenly) {
    std::vector<std::uint32_t> all(997);
    std::iota(all.begin(), all.end(), 0u);
    std::vector<std::uint32_t> slots = spread(all);
    for (const std::size_t n : {10u, 100u, 500u, 990u}) {
        std::vector<std::uint32_t> some(slots.begin(), slots.begin() + static_cast<std::ptrdiff_t>(n));
        std::sort(some.begin(), some.end());
        for (std::size_t i = 1; i < n; ++i) EXPECT_LE(some[i] - some[i - 1], 3 * 997 / n + 1) << n;
    }
    std::sort(slots.begin(), slots.end());
    EXPECT_EQ(slots, all) << "each once";
    EXPECT_THAT(spread({}), IsEmpty());
}

std::string hr_info_text(const std::map<int, double>& fine, const std::map<int, double>& coarse = {}) {
    std::string text;
    const std::pair<const char*, const std::map<int, double>*> types[] = {{"fine", &fine}, {"coarse", &coarse}};
    for (const auto& [name, rac] : types) {
        text += std::string("--------- ") + name + " ----------\n";
        for (int c = 0; c < kHrClasses; ++c) {
            const auto found = rac->find(c);
            text += std::to_string(c) + " " + std::to_string(found == rac->end() ? 0.0 : found->second) + "\n";
        }
    }
    return text;
}

TEST(HrQuota, HalfIsUncommittedRestByCredit) {
    const HrInfo info = parse_hr_info(hr_info_text({{258, 300}, {386, 100}}), "hr_info.txt");
    HrQuota quota(info, {0, 81, 0});
    EXPECT_EQ(quota.limit(1, 0), 40) << "floor of the half";
    EXPECT_EQ(quota.limit(1, 258), 30);
    EXPECT_EQ(quota.limit(1, 386), 10);
    EXPECT_EQ(quota.limit(1, 514), 1);
    for (int i = 0; i < 10; ++i) {
        EXPECT_TRUE(quota.accepts(1, 386)) << i;
        quota.add(1, 386);
    }
    EXPECT_FALSE(quota.accepts(1, 386));
    quota.add(1, 386, -1);
    EXPECT_TRUE(quota.accepts(1, 386));
    EXPECT_TRUE(quota.accepts(0, 0)) << "apps without HR have no classes";
    EXPECT_FALSE(quota.accepts(1, kHrClasses)) << "a class out of range";
    EXPECT_FALSE(quota.accepts(1, -1));
    EXPECT_TRUE(HrQuota().accepts(1, 258)) << "without <hr_allocate_slots> nothing is limited";
}

TEST(HrQuota, SlotsByTypeFollowTheWeights) {
    std::vector<App> apps(3);
    apps[0].weight = 1;
    apps[1].weight = 2, apps[1].homogeneous_redundancy = HrType::kFine;
    apps[2].weight = 1, apps[2].homogeneous_redundancy = HrType::kCoarse;
    EXPECT_THAT(hr_slots(apps, 0, 100), ElementsAre(25, 50, 25));
    EXPECT_THAT(hr_slots(apps, 2, 100), ElementsAre(0, 0, 100)) << "project-wide";
}

TEST(HrQuota, MisconfigurationsAreNamed) {
    std::vector<App> apps(2);
    apps[0].name = "a", apps[1].name = "b";
    EXPECT_EQ(hr_misconfiguration(apps, 0, false, true), "");
    EXPECT_EQ(hr_misconfiguration(apps, 2, false, true), "");
    EXPECT_THAT(hr_misconfiguration(apps, 3, false, true), HasSubstr("homogeneous_redundancy"));
    apps[1].homogeneous_redundancy = HrType::kFine;
    EXPECT_THAT(hr_misconfiguration(apps, 0, false, true), HasSubstr("--allapps"));
    EXPECT_EQ(hr_misconfiguration(apps, 0, false, false), "");
    EXPECT_EQ(hr_misconfiguration(apps, 0, true, true), "");
    EXPECT_THAT(hr_misconfiguration(apps, 1, true, true), HasSubstr("both"));
    apps[1].homogeneous_redundancy = static_cast<HrType>(3);
    EXPECT_THAT(hr_misconfiguration(apps, 0, true, true), HasSubstr("b has"));
    EXPECT_EQ(hr_misconfiguration({}, 0, false, true), "");
}

TEST(HrInfoFile, DeviationsAreErrorsWithTheLine) {
    const std::string good = hr_info_text({{2, 7.5}});
    EXPECT_EQ(parse_hr_info(good, "f")[1][2], 7.5);
    EXPECT_THAT([&] { parse_hr_info("", "hr_info.txt"); },
                ThrowsMessage<ConfigError>(HasSubstr("hr_info.txt, line 1")));
    std::string bad = good;
    bad.replace(bad.find("\n3 "), 3, "\n9 ");
    EXPECT_THAT([&] { parse_hr_info(bad, "f"); }, ThrowsMessage<ConfigError>(HasSubstr("line 5")));
    EXPECT_THROW(parse_hr_info(good.substr(0, good.size() / 2), "f"), ConfigError)
        << "upstream's sample has too few rows";
    bad = good;
    bad.replace(bad.find("2 7.5"), 5, "2 abc");
    EXPECT_THROW(parse_hr_info(bad, "f"), ConfigError);
}

TEST(CensusFile, NeedsClassesMinusOneAscendingNumbers) {
    EXPECT_THAT(parse_quantiles("1.500000e+9\n2.500000e+9\n", 3).values, ElementsAre(1.5e9, 2.5e9));
    EXPECT_EQ(parse_quantiles("1.500000e+9\n2.500000e+9\n", 3).problem, "");
    EXPECT_EQ(parse_quantiles("1\n2\nrubbish that upstream never reads\n", 3).problem, "");
    EXPECT_EQ(parse_quantiles("0.000000e+0\n0.000000e+0\n", 3).problem, "");
    for (const char* bad : {"", "1\n", "2\n1\n", "1\nx\n", "-1\n2\n", "nan\n1\n", "inf\ninf\n", "1 2\n"}) {
        EXPECT_NE(parse_quantiles(bad, 3).problem, "") << bad;
    }
}

TEST(CensusReader, WarnsOncePerProblemAndNoticesChanges) {
    TempDir dir;
    ProjectTables tables;
    tables.apps.resize(3);
    tables.apps[0].id = 1, tables.apps[0].name = "a", tables.apps[0].n_size_classes = 3;
    tables.apps[1].id = 2, tables.apps[1].name = "b", tables.apps[1].n_size_classes = 2;
    tables.apps[2].id = 3, tables.apps[2].name = "c", tables.apps[2].n_size_classes = 1;  // accelerable, no classes
    dir.write("size_census_a", "1\n2\n");
    CensusReader reader(dir.path());
    EXPECT_TRUE(reader.changed(tables.apps)) << "not read yet";
    testing::internal::CaptureStderr();
    reader.read(tables);
    reader.read(tables);
    const std::string log = testing::internal::GetCapturedStderr();
    EXPECT_THAT(log, HasSubstr("size_census_b"));
    EXPECT_EQ(log.find("size_census_b"), log.rfind("size_census_b")) << log;
    EXPECT_EQ(log.find("size_census_c"), std::string::npos);
    EXPECT_THAT(tables.size_quantiles.at(1), ElementsAre(1, 2));
    EXPECT_EQ(tables.size_quantiles.count(2), 0u);
    EXPECT_FALSE(reader.changed(tables.apps));
    dir.write("size_census_b", "7\n");
    EXPECT_TRUE(reader.changed(tables.apps));
    reader.read(tables);
    EXPECT_THAT(tables.size_quantiles.at(2), ElementsAre(7));
    std::filesystem::remove(dir / "size_census_a");
    EXPECT_TRUE(reader.changed(tables.apps));
    reader.read(tables);
    EXPECT_EQ(tables.size_quantiles.count(1), 0u);
}

TEST(SubmitterTurns, FollowQuotas) {
    SubmitterTurns turns({{1, 1}, {2, 3}});
    std::map<Id, int> jobs;
    const auto everybody = [](Id) { return true; };
    for (int i = 0; i < 400; ++i) {
        const Id user = turns.next(everybody).value();
        turns.charge(user);
        ++jobs[user];
    }
    EXPECT_EQ(jobs[1], 100);
    EXPECT_EQ(jobs[2], 300);
    EXPECT_EQ(SubmitterTurns({{1, 1}, {2, 1}}).next(everybody), 2) << "ties: the later one";
    EXPECT_EQ(turns.next([](Id u) { return u == 1; }), 1);
    EXPECT_EQ(turns.next([](Id) { return false; }), std::nullopt);
}

TEST(SubmitterTurns, AnAdvantageIsBankedUpTo500Jobs) {
    SubmitterTurns turns({{1, 1}, {2, 1}});
    for (int i = 0; i < 100000; ++i) turns.charge(1);  // user 2 had nothing to send for long
    int in_a_row = 0;
    while (turns.next([](Id) { return true; }) == 2) {
        turns.charge(2);
        ASSERT_LT(++in_a_row, 1000);
    }
    EXPECT_NEAR(in_a_row, 500, 2);
}

TEST(AccelTarget, BothKindsHaveRoom) {
    EXPECT_EQ(accel_target(100, 0.5).high, 50u);
    EXPECT_EQ(accel_target(100, 0.25).low, 75u);
    EXPECT_EQ(accel_target(10, 0.01).high, 1u);
    EXPECT_EQ(accel_target(10, 0.99).low, 1u);
    EXPECT_EQ(accel_target(10, 0).high, 0u);
    EXPECT_EQ(accel_target(10, 1).low, 0u);
}

HeldJob held(Id id, double since, std::int64_t priority = 0) {
    HeldJob job;
    job.queued.row.id = id;
    job.queued.row.priority = priority;
    job.since = since;
    return job;
}

TEST(Reclaim, StaleSlots) {
    ArrayMirror mirror(3);
    mirror.set(0, held(1, 0)), mirror.set(2, held(2, 900));
    EXPECT_THAT(stale_slots(mirror, 1000, 500), ElementsAre(0));
    EXPECT_THAT(stale_slots(mirror, 1000, 50), ElementsAre(0, 2));
    EXPECT_THAT(stale_slots(mirror, 1000, 0), IsEmpty()) << "off";
}

TEST(Reclaim, TheWorstOfVainlySeenJobsGo) {
    ArrayMirror mirror(30);
    for (std::uint32_t i = 0; i < 30; ++i) mirror.set(i, held(i + 1, 100 - i));
    Rotation r;
    r.now = 1000, r.age = 500;
    r.looks = [](std::uint32_t) { return 3u; };
    r.is_wanted = [](std::uint32_t) { return true; };
    EXPECT_THAT(slots_to_rotate(mirror, r), ElementsAre(29, 28, 27)) << "a tenth, the longest held first";
    HeldJob high = held(99, 0, 7);
    set_place(high.queued, FeederOrder::kDefault, 0);
    for (const std::uint32_t slot : {29u, 28u}) high.queued.row.id = 90 + slot, mirror.set(slot, high);
    EXPECT_THAT(slots_to_rotate(mirror, r), ElementsAre(27, 26, 25)) << "the highest priorities stay";
    r.is_wanted = [](std::uint32_t s) { return s == 3; };
    EXPECT_THAT(slots_to_rotate(mirror, r), ElementsAre(3)) << "only where somebody waits";
    r.is_wanted = [](std::uint32_t) { return true; };
    r.looks = [](std::uint32_t s) { return s < 16 ? 3u : 2u; };
    EXPECT_THAT(slots_to_rotate(mirror, r), ElementsAre(15)) << "until half are left";
    r.looks = [](std::uint32_t s) { return s < 15 ? 3u : 2u; };
    EXPECT_THAT(slots_to_rotate(mirror, r), IsEmpty()) << "half of it is not clogged";
    r.looks = [](std::uint32_t) { return 9u; }, r.now = 500;
    EXPECT_THAT(slots_to_rotate(mirror, r), IsEmpty()) << "not old enough";
}

TEST(Reclaim, RebalancingTakesTheNewestOfTheSurplus) {
    ArrayMirror mirror(10);
    for (std::uint32_t i = 0; i < 10; ++i) mirror.set(i, held(i + 1, i, 1));
    const std::vector<std::uint32_t> all{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, of_an_app{0, 2, 4, 6};
    EXPECT_THAT(slots_to_rebalance(mirror, all, 0.5, {0, 3}), ElementsAre(9, 8, 7)) << "as many as wait";
    EXPECT_THAT(slots_to_rebalance(mirror, all, 0.5, {0, 300}), testing::SizeIs(5)) << "as many as are missing";
    EXPECT_THAT(slots_to_rebalance(mirror, all, 0.5, {300, 0}), IsEmpty());
    EXPECT_THAT(slots_to_rebalance(mirror, of_an_app, 0.5, {0, 300}), ElementsAre(6, 4)) << "the app's own share";
    mirror.clear(3);
    EXPECT_THAT(slots_to_rebalance(mirror, all, 0.5, {0, 300}), IsEmpty()) << "there is room";
    EXPECT_THAT(slots_to_rebalance(mirror, of_an_app, 0.5, {0, 300}), ElementsAre(6, 4));
}

TEST(JobSummaryOf, TakesEverythingThatASchedulerNeeds) {
    UnsentJob from;
    from.result.id = 5, from.result.priority = 20, from.result.report_deadline = 99, from.result.create_time = 7;
    Workunit& w = from.workunit;
    w.id = 6, w.appid = 2, w.batch = 3, w.rsc_fpops_est = 1, w.rsc_fpops_bound = 2, w.rsc_memory_bound = 3,
    w.rsc_disk_bound = 4;
    w.rsc_bandwidth_bound = 5, w.delay_bound = 86400, w.priority = 1, w.hr_class = 258, w.app_version_id = 11,
    w.app_version_num = 101;
    w.size_class = 2, w.target_nresults = 3;
    w.keywords = " 11 22  33 44 55 66 77 ";
    w.xml_doc =
        "<file_info><name>in_1</name><nbytes>100</nbytes><sticky/></file_info>\n<file_info><name>in_2</name><nbytes>7</nbytes></file_info>"
        "<file_info><sticky/><name>in_3</name><nbytes>1e6</nbytes></file_info><workunit><buda_app_name>worker</buda_app_name></workunit>";
    JobSummary job = job_summary_of(w, from.result, 0, 1000);
    EXPECT_EQ(job.result_id, 5);
    EXPECT_EQ(job.workunit_id, 6);
    EXPECT_EQ(job.app_id, 2);
    EXPECT_EQ(job.batch, 3);
    EXPECT_EQ(job.rsc_memory_bound, 3);
    EXPECT_EQ(job.rsc_bandwidth_bound, 5);
    EXPECT_EQ(job.delay_bound, 86400);
    EXPECT_EQ(job.report_deadline, 99);
    EXPECT_EQ(job.priority, 20);
    EXPECT_EQ(job.wu_priority, 1);
    EXPECT_EQ(job.hr_class, 258);
    EXPECT_EQ(job.app_version_id, 11);
    EXPECT_EQ(job.app_version_num, 101);
    EXPECT_EQ(job.size_class, 2);
    EXPECT_EQ(job.target_nresults, 3);
    EXPECT_EQ(job.time_added, 1000);
    EXPECT_EQ(job.create_time, 7);
    EXPECT_EQ(job.n_keywords, 7) << "one more than fits";
    EXPECT_THAT(job.keywords, ElementsAre(11, 22, 33, 44, 55, 66));
    EXPECT_EQ(job.n_input_files, 2);
    EXPECT_EQ(job.input_files[0].name_hash, file_name_hash("in_1", 4));
    EXPECT_EQ(job.input_files[1].name_hash, file_name_hash("in_3", 4));
    EXPECT_EQ(job.input_files[1].nbytes, 1e6f);
    EXPECT_EQ(job.is_buda, 1);
    EXPECT_EQ(job.buda_app_hash, file_name_hash("worker", 6));
    EXPECT_EQ(job.need_reliable, 0);
    EXPECT_EQ(job_summary_of(w, from.result, 20, 0).need_reliable, 1);
    EXPECT_EQ(job_summary_of(w, from.result, 21, 0).need_reliable, 0);
    w.xml_doc = "<file_info><name>open";
    w.delay_bound = std::int64_t{1} << 40;
    job = job_summary_of(w, from.result, 0, 0);
    EXPECT_EQ(job.n_input_files, 0);
    EXPECT_EQ(job.delay_bound, 2147483647);
}

FeederOptions parsed(std::vector<const char*> args, int status = 0) {
    args.insert(args.begin(), "feeder");
    const test::TempDir project;
    write_file_atomically(project / "config.xml", "<boinc></boinc>");
    ::setenv("BOINC_PROJECT_DIR", project.path().c_str(), 1);
    FeederOptions options;
    testing::internal::CaptureStderr();
    DaemonProgram program = feeder_program(static_cast<int>(args.size()), args.data(), options);
    bool ran = false;
    program.run = [&](DaemonStart&) {
        ran = true;
        return 0;
    };
    EXPECT_EQ(daemon_main(program, static_cast<int>(args.size()), args.data()), status);
    EXPECT_EQ(ran, status == 0);
    testing::internal::GetCapturedStderr();
    ::unsetenv("BOINC_PROJECT_DIR");
    return options;
}

TEST(FeederCommand, AllOptionsCombine) {
    const FeederOptions o =
        parsed({"--allapps", "-appids",        "3,5",        "--mod",  "4", "1",      "--wmod", "3",
                "0",         "--purge_stale",  "2",          "--user", "7", "--user", "8",      "--sleep_interval",
                "9",         "--random_order", "--by_batch", "-d",     "4"});
    EXPECT_TRUE(o.allapps);
    EXPECT_THAT(o.appids, ElementsAre(3, 5));
    EXPECT_EQ(o.share.n, 4);
    EXPECT_EQ(o.share.i, 1);
    EXPECT_EQ(o.workunit_share.n, 3);
    EXPECT_FALSE(o.is_main_feeder());
    EXPECT_EQ(o.purge_stale, 120) << "minutes";
    EXPECT_THAT(o.users, ElementsAre(7, 8));
    EXPECT_EQ(o.sleep_interval, 9);
    EXPECT_EQ(o.order, FeederOrder::kByBatch) << "the last one wins";
    EXPECT_EQ(parsed({"-priority_asc"}).order, FeederOrder::kPriorityAsc);
    EXPECT_EQ(parsed({"--random_order_db"}).order, FeederOrder::kRandom);
    EXPECT_EQ(parsed({"--batch_accel"}).order, FeederOrder::kBatchAccel);
    EXPECT_EQ(parsed({"--random_order", "--priority_order_create_time"}).order, FeederOrder::kDefault);
    EXPECT_EQ(parsed({}).sleep_interval, std::nullopt);
    EXPECT_TRUE(parsed({}).is_main_feeder());
}

TEST(FeederCommand, NonsenseIsRefused) {
    for (const std::vector<const char*>& args : std::vector<std::vector<const char*>>{{"--mod", "0", "0"},
                                                                                      {"--mod", "2", "2"},
                                                                                      {"--mod", "2", "-1"},
                                                                                      {"--mod", "2"},
                                                                                      {"--appids", "1,x"},
                                                                                      {"--appids", "1,,2"},
                                                                                      {"--user", "me"},
                                                                                      {"--batch_accel_share", "2"},
                                                                                      {"--purge_stale", "-1"},
                                                                                      {"--sleep_interval", "-1"},
                                                                                      {"--nonsense"}}) {
        parsed(args, 1);
    }
}

}  // namespace
}  // namespace sluice::test
