// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/batches/turnaround_state.h"

#include <gtest/gtest.h>

#include <random>

#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "tests/support/temp_dir.h"

namespace sluice {
namespace {

BatchSection random_section(std::mt19937_64& random, Id batch, int n) {
    BatchSection s;
    s.batch = batch;
    Id id = 0;
    for (int i = 0; i < n; ++i) {
        Observation o;
        o.result = id += 1 + static_cast<Id>(random() % 5000000000ull);  // 64-bit ids
        o.workunit = static_cast<Id>(random() % 1000000);
        o.host = static_cast<std::uint32_t>(random());
        o.version = static_cast<std::int32_t>(random());
        o.sent = static_cast<std::uint32_t>(random());
        o.ended = static_cast<std::uint32_t>(random());
        o.kind = static_cast<JobKind>(random() % 7);
        s.observations.push_back(o);
    }
    return s;
}

StatsSummary some_summary() {
    StatsSummary s;
    s.database = "host/db";
    s.rules = stats_rules(1);
    s.rules.min_hosts = 17;
    s.made_at = 1700000000;
    s.full_at = 1600000000;
    s.full_seconds = 12.5;
    s.pass = 99;
    s.last_result = 12345678901;
    s.first_batch = 4;
    s.ltt_hosts = {1, 5, 1000000};
    s.versions = {{1, 7, true, 0.25, 10}, {1, 1000002, false, 10, 3}};
    s.apps = {{1, 200, 80, true}, {2, 3, 0, false}};
    return s;
}

TEST(StateFile, WhatIsWrittenIsReadBack) {
    const test::TempDir dir;
    std::mt19937_64 random(5);
    std::vector<BatchSection> sections;
    for (int i = 0; i < 40; ++i)
        sections.push_back(random_section(random, i * 3 + 1, static_cast<int>(random() % 300)));
    sections.push_back({1000, {}});
    {
        StateWriter writer(dir / "s");
        for (const auto& s : sections) writer.put(s);
        writer.commit(some_summary());
    }
    std::string why;
    auto reader = StateReader::open(dir / "s", why);
    ASSERT_TRUE(reader) << why;
    for (int round = 0; round < 2; ++round) {
        BatchSection s;
        for (const auto& expected : sections) {
            ASSERT_TRUE(reader->next(s));
            EXPECT_EQ(s.batch, expected.batch);
            EXPECT_EQ(s.observations, expected.observations);
        }
        EXPECT_FALSE(reader->next(s));
        reader->rewind();
    }
    const StatsSummary& s = reader->summary();
    const StatsSummary e = some_summary();
    EXPECT_EQ(s.database, e.database);
    EXPECT_EQ(s.rules.min_hosts, 17);
    EXPECT_EQ(s.rules.half_life, e.rules.half_life);
    EXPECT_TRUE(s.rules.per_version);
    EXPECT_EQ(s.full_seconds, 12.5);
    EXPECT_EQ(s.last_result, 12345678901);
    EXPECT_EQ(s.ltt_hosts, e.ltt_hosts);
    EXPECT_EQ(s.versions[1].version, 1000002);
    EXPECT_EQ(s.versions[1].ratio, 10);
    EXPECT_EQ(s.apps[0].ltt_hosts, 80);
    EXPECT_FALSE(std::filesystem::exists(dir / "s.tmp"));
}

TEST(StateFile, MissingIsNoComplaintAnyDamageIs) {
    const test::TempDir dir;
    std::string why;
    EXPECT_FALSE(StateReader::open(dir / "none", why));
    EXPECT_EQ(why, "");
    std::mt19937_64 random(6);
    {
        StateWriter writer(dir / "s");
        writer.put(random_section(random, 1, 20));
        writer.commit(some_summary());
    }
    const std::string good = *read_file(dir / "s");
    for (std::size_t at = 0; at < good.size(); at += at < 40 ? 1 : 13) {
        std::string bad = good;
        bad[at] = static_cast<char>(bad[at] ^ 0x10);
        dir.write("bad", bad);
        why.clear();
        EXPECT_FALSE(StateReader::open(dir / "bad", why)) << at;
        EXPECT_NE(why, "") << at;
        dir.write("bad", good.substr(0, at));
        EXPECT_FALSE(StateReader::open(dir / "bad", why)) << "cut at " << at;
    }
}

TEST(StateFile, OldOneStaysUntilNewOneIsWhole) {
    const test::TempDir dir;
    {
        StateWriter writer(dir / "s");
        writer.commit(some_summary());
    }
    const std::string good = *read_file(dir / "s");
    {
        StateWriter writer(dir / "s");
        std::mt19937_64 random(7);
        writer.put(random_section(random, 1, 2000));
        EXPECT_EQ(*read_file(dir / "s"), good);
    }  // not committed: the pass failed
    EXPECT_EQ(*read_file(dir / "s"), good);
    EXPECT_FALSE(std::filesystem::exists(dir / "s.tmp"));
    EXPECT_THROW(StateWriter(dir / "no_such_folder/s"), FileError);
}

}  // namespace
}  // namespace sluice
