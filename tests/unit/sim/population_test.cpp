// SPDX-License-Identifier: LGPL-3.0-or-later
// Fleets that are given: traces of machines, and when they compute.
#include "sched/sim/population.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sched/sim/fleet.h"
#include "sluice/base/error.h"
#include "tests/support/temp_dir.h"

namespace sluice::sim {
namespace {

using testing::HasSubstr;

std::string complaint_on_sessions(const std::string& text) {
    const test::TempDir folder;
    try {
        read_sessions(folder.write("sessions.csv", text).string());
    } catch (const Error& e) {
        return e.what();
    }
    return "";
}

TEST(Population, ATraceSaysWhatAMachineIs) {
    const test::TempDir folder;
    Fleet fleet;
    fleet.trace = folder
                      .write("hosts.csv",
                             "speed,cores,disk_gb,os,habit,buffer_min_days\n"
                             "2.5,4,10,Linux Ubuntu,daily,1.5\n"
                             "1,,,,,\n")
                      .string();
    const auto hosts = read_trace(fleet, 1);
    ASSERT_EQ(hosts.size(), 2u);
    EXPECT_EQ(hosts[0].speed, 2.5);
    EXPECT_EQ(hosts[0].cores, 4);
    EXPECT_EQ(hosts[0].disk, 10e9);
    EXPECT_EQ(hosts[0].os, "Linux Ubuntu");
    EXPECT_EQ(hosts[0].habit, Habit::kDaily);
    EXPECT_EQ(hosts[0].buffer_min, 1.5 * kDay);
    EXPECT_EQ(hosts[1].os, draw_host(fleet, 1, 1).os) << "an empty cell is drawn";
}

TEST(Population, EachColumnOfATraceCounts) {
    const test::TempDir folder;
    Fleet fleet;
    fleet.trace = folder
                      .write("hosts.csv",
                             "speed,cores,gpus,memory_gb,disk_gb,os,vendor,model,habit,lifetime_days,buffer_min_days,"
                             "buffer_additional_days,error_rate\n"
                             "2,3,1,4,5,OS,VENDOR,MODEL,never_off,6,7,8,0.5\n"
                             "1,5000000000,5000000000,,,,,,,0,0,,7\n")
                      .string();
    const auto hosts = read_trace(fleet, 1);
    ASSERT_EQ(hosts.size(), 2u);
    const HostSpec& h = hosts[0];
    EXPECT_THAT((std::vector<double>{h.speed, h.memory, h.disk, h.lifetime, h.buffer_min, h.buffer_more, h.error_rate}),
                testing::ElementsAre(2, 4e9, 5e9, 6 * kDay, 7 * kDay, 8 * kDay, 0.5));
    EXPECT_THAT((std::vector<int>{h.cores, h.gpus}), testing::ElementsAre(3, 1));
    EXPECT_THAT((std::vector<std::string>{h.os, h.vendor, h.model}), testing::ElementsAre("OS", "VENDOR", "MODEL"));
    EXPECT_EQ(h.habit, Habit::kNeverOff);
    EXPECT_EQ(hosts[1].cores, 4096) << "what is too much is the most, not the least";
    EXPECT_EQ(hosts[1].gpus, 64);
    EXPECT_EQ(hosts[1].lifetime, std::numeric_limits<double>::infinity());
    EXPECT_EQ(hosts[1].error_rate, 1);
}

TEST(Population, ComplaintsOfATraceAreOneShortLine) {
    const test::TempDir folder;
    const std::string evil = "\x1b[2J\tx" + std::string(10000, 'y');
    for (const std::string& text : {"speed," + evil + "\n1,1\n", "speed,habit\n1," + evil + "\n",
                                    "speed\n" + evil + "\n", std::string("lifetime_days\n1e-300\n")}) {
        Fleet fleet;
        fleet.trace = folder.write("hosts.csv", text).string();
        try {
            read_trace(fleet, 1);
            ADD_FAILURE() << "taken";
        } catch (const Error& e) {
            EXPECT_THAT(e.what(), testing::AllOf(HasSubstr("hosts.csv:"), testing::Not(HasSubstr("\x1b"))));
            EXPECT_LT(std::string(e.what()).size(), 1000u);
        }
    }
}

TEST(Population, RecordedSessionsAreRepeatedFromTheRunsStart) {
    const test::TempDir folder;
    const auto recorded =
        read_sessions(folder.write("s.csv", "host,from_hours,until_hours\n0,0,8\n0,20,26\n1,3,4\n").string());
    ASSERT_EQ(recorded.size(), 2u);
    HostSpec host;
    SmallRng rng(1);
    const auto when_on = [&](std::size_t number, double joined) {
        host.sessions = recorded[number];
        Sessions s(host, 1, joined);
        std::vector<double> hours;
        double at = joined + s.first(rng);
        for (; hours.size() < 6; at += s.next()) {
            s.toggle();
            hours.push_back(at / kHour);
        }
        return hours;
    };
    // The longest ends in the second day: all are repeated every 48 hours.
    EXPECT_THAT(when_on(0, 1 * kHour), testing::ElementsAre(8, 20, 26, 48, 48, 48));
    EXPECT_THAT(when_on(1, 0), testing::ElementsAre(3, 4, 48, 48, 51, 52));
    EXPECT_THAT(when_on(1, 50 * kHour), testing::ElementsAre(51, 52, 96, 96, 99, 100));
    host.sessions = recorded[0];
    EXPECT_DOUBLE_EQ(Sessions(host, 1, 0).part_on(), 14.0 / 48);
    EXPECT_TRUE(Sessions(host, 1, 7 * kHour).on());
    EXPECT_FALSE(Sessions(host, 1, 9 * kHour).on());
    EXPECT_TRUE(Sessions(host, 1, (48 + 25) * kHour).on());
}

TEST(Population, WrongSessionsAreNamed) {
    EXPECT_THAT(complaint_on_sessions("host,from,until\n"), HasSubstr("sessions.csv:1: the columns are"));
    const std::string head = "host,from_hours,until_hours\n";
    EXPECT_THAT(complaint_on_sessions(head), HasSubstr("no sessions"));
    EXPECT_THAT(complaint_on_sessions(head + "0,1,2\n0,1.5,3\n"), HasSubstr("sessions.csv:3"));
    EXPECT_THAT(complaint_on_sessions(head + "2,1,2\n"), HasSubstr("without a gap"));
    EXPECT_THAT(complaint_on_sessions(head + "0,one,2\n"), HasSubstr("'one' is no number"));
    EXPECT_THAT(complaint_on_sessions(head + "0,1\n"), HasSubstr("sessions.csv:2"));
}

TEST(Population, HostsComputeOnlyInTheirSessions) {
    const test::TempDir folder;
    Scenario s;
    s.days = 2;
    s.fleet.hosts = 5;
    s.fleet.speed_sigma = 0, s.fleet.lifetime_days = 0, s.fleet.error_rate = s.fleet.bad_hosts = 0;
    s.fleet.sessions = folder.write("s.csv", "host,from_hours,until_hours\n0,10,12\n").string();
    s.apps.push_back({});
    s.users.push_back({});
    WorkSpec w;
    w.kind = WorkSpec::Kind::kBatches;
    w.jobs = 5, w.poisson = false, w.every_hours = 1e6, w.size_sigma = 0;
    s.work.push_back(w);
    const FleetResult r = simulate_fleet(s, {});
    EXPECT_EQ(r.jobs_done, 5);
    ASSERT_EQ(r.makespans_hours.size(), 1u);
    EXPECT_GT(r.makespans_hours[0], 11);
}

}  // namespace
}  // namespace sluice::sim
