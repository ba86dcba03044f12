// SPDX-License-Identifier: LGPL-3.0-or-later
// The parts that need no second process: the allocator of cold data and the tables' codec.
#include <gtest/gtest.h>

#include <map>

#include "sluice/base/error.h"
#include "sluice/base/rng.h"
#include "src/shmem/block_allocator.h"
#include "src/shmem/layout.h"
#include "src/shmem/tables_codec.h"

namespace sluice::test {
namespace {

using namespace shm;

TEST(StateWord, KeepsItsParts) {
    const std::uint64_t generation = (std::uint64_t{1} << 40) - 1;
    const std::uint64_t word = make_word(generation, 65535, WordState::kClaimed);
    EXPECT_EQ(generation_of(word), generation);
    EXPECT_EQ(owner_of(word), 65535u);
    EXPECT_EQ(state_of(word), WordState::kClaimed);
    EXPECT_EQ(with_state(word, 0, WordState::kPresent), make_word(generation, 0, WordState::kPresent));
    const ProcessId process{4194303, 123456789012};
    EXPECT_EQ(unpack_owner(pack_owner(process)), process);
}

TEST(BlockAllocator, BlocksNeverOverlapAndEverythingComesBack) {
    const auto rng = make_seeded_rng(7);
    BlockAllocator pool;
    constexpr std::uint64_t kChunk = 200000;
    pool.add_chunk(0, kChunk);
    pool.add_chunk(1, kChunk);
    std::map<std::pair<std::uint32_t, std::uint64_t>, BlockRef> held;
    for (int step = 0; step < 50000; ++step) {
        if (rng->below(2) == 0) {
            const auto block = pool.allocate(static_cast<std::uint32_t>(1 + rng->below(5000)));
            if (!block) continue;
            ASSERT_LE(block->offset + block->bytes, kChunk);
            ASSERT_EQ(block->offset % kBlockUnit, 0u);
            const auto [mine, fresh] = held.emplace(std::pair{block->chunk, block->offset}, *block);
            ASSERT_TRUE(fresh);
            if (const auto after = std::next(mine); after != held.end() && after->first.first == block->chunk) {
                ASSERT_LE(block->offset + block->bytes, after->second.offset);
            }
            if (mine != held.begin() && std::prev(mine)->first.first == block->chunk) {
                ASSERT_LE(std::prev(mine)->second.offset + std::prev(mine)->second.bytes, block->offset);
            }
        } else if (!held.empty()) {
            auto it = std::next(held.begin(), static_cast<std::ptrdiff_t>(rng->below(held.size())));
            pool.release(it->second);
            held.erase(it);
        }
    }
    for (const auto& [place, block] : held) pool.release(block);
    EXPECT_EQ(pool.used(), 0u);
    EXPECT_TRUE(pool.allocate(kChunk)) << "joined again";
    EXPECT_TRUE(pool.allocate(kChunk));
    EXPECT_FALSE(pool.allocate(1));
}

ProjectTables full_tables() {
    ProjectTables t;
    t.platforms = {{3, "x86_64-pc-linux-gnu", "Linux", true}};
    App app;
    app.id = 4, app.name = "a", app.user_friendly_name = "A", app.min_version = 5, app.deprecated = true;
    app.homogeneous_redundancy = HrType::kCoarse, app.weight = 2.5, app.beta = true, app.target_nresults = 6;
    app.min_avg_pfc = 7.5, app.host_scale_check = true, app.homogeneous_app_version = true,
    app.non_cpu_intensive = true;
    app.locality_scheduling = 1, app.n_size_classes = 8, app.fraction_done_exact = true;
    t.apps = {app, App{}};
    AppVersion v;
    v.id = 9, v.appid = 4, v.platformid = 3, v.version_num = 101;
    v.xml_doc.assign(70000, 'x');
    v.xml_doc[69000] = '\0';
    v.min_core_version = 60000, v.max_core_version = 70000, v.deprecated = true, v.plan_class = "mt", v.pfc_n = 1.5;
    v.pfc_avg = 2.5, v.pfc_scale = 3.5, v.expavg_credit = 4.5, v.expavg_time = 5.5, v.beta = true;
    t.versions = {v};
    t.broadcasts = {{1, 2, AssignTarget::kTeam, true, 3, 4}};
    t.size_quantiles[4] = {1e9, 2e9};
    t.batch_shares[12] = {5, 1.8e9, 2.5};
    t.plan = {8, 1.5, {{12, 1.8e9, 1.25, 1, 70, 9}, {13, 1.9e9, 1.25, 2, 0, 8}}, {{5, 3, 4}}, 98, 99, {6, 7}};
    t.file_groups = {{"big", 1, 2, 3, 4}, {}};
    t.perf = {1, 2, 3, 4};
    t.has_turnaround_verdicts = true;
    t.built_at = 1700000000;
    return t;
}

TEST(TablesCodec, EveryFieldComesBack) {
    const ProjectTables t = decode_tables(encode_tables(full_tables()));
    ASSERT_EQ(t.platforms.size(), 1u);
    const Platform& p = t.platforms[0];
    EXPECT_EQ(p.id, 3);
    EXPECT_EQ(p.name, "x86_64-pc-linux-gnu");
    EXPECT_EQ(p.user_friendly_name, "Linux");
    EXPECT_TRUE(p.deprecated);
    ASSERT_EQ(t.apps.size(), 2u);
    const App& a = t.apps[0];
    EXPECT_EQ(a.id, 4);
    EXPECT_EQ(a.name, "a");
    EXPECT_EQ(a.user_friendly_name, "A");
    EXPECT_EQ(a.min_version, 5);
    EXPECT_TRUE(a.deprecated && a.beta && a.host_scale_check && a.homogeneous_app_version && a.non_cpu_intensive &&
                a.fraction_done_exact);
    EXPECT_EQ(a.homogeneous_redundancy, HrType::kCoarse);
    EXPECT_EQ(a.weight, 2.5);
    EXPECT_EQ(a.target_nresults, 6);
    EXPECT_EQ(a.min_avg_pfc, 7.5);
    EXPECT_EQ(a.locality_scheduling, 1);
    EXPECT_EQ(t.file_groups, full_tables().file_groups);
    EXPECT_EQ(a.n_size_classes, 8);
    ASSERT_EQ(t.versions.size(), 1u);
    const AppVersion& v = t.versions[0];
    EXPECT_EQ(v.id, 9);
    EXPECT_EQ(v.appid, 4);
    EXPECT_EQ(v.platformid, 3);
    EXPECT_EQ(v.version_num, 101);
    EXPECT_EQ(v.xml_doc, full_tables().versions[0].xml_doc);
    EXPECT_EQ(v.plan_class, "mt");
    EXPECT_EQ(v.min_core_version, 60000);
    EXPECT_EQ(v.max_core_version, 70000);
    EXPECT_TRUE(v.deprecated && v.beta);
    EXPECT_EQ(v.pfc_n, 1.5);
    EXPECT_EQ(v.pfc_avg, 2.5);
    EXPECT_EQ(v.pfc_scale, 3.5);
    EXPECT_EQ(v.expavg_credit, 4.5);
    EXPECT_EQ(v.expavg_time, 5.5);
    ASSERT_EQ(t.broadcasts.size(), 1u);
    const Assignment& b = t.broadcasts[0];
    EXPECT_EQ(b.id, 1);
    EXPECT_EQ(b.target_id, 2);
    EXPECT_EQ(b.target_type, AssignTarget::kTeam);
    EXPECT_TRUE(b.multi);
    EXPECT_EQ(b.workunitid, 3);
    EXPECT_EQ(b.resultid, 4);
    EXPECT_EQ(t.size_quantiles.at(4), (std::vector<double>{1e9, 2e9}));
    ASSERT_EQ(t.batch_shares.size(), 1u);
    EXPECT_EQ(t.batch_shares.at(12).user_id, 5);
    EXPECT_EQ(t.batch_shares.at(12).end, 1.8e9);
    EXPECT_EQ(t.batch_shares.at(12).quota, 2.5);
    EXPECT_TRUE(t.has_turnaround_verdicts);
    EXPECT_EQ(t.perf.mean, 1);
    EXPECT_EQ(t.perf.stddev, 2);
    EXPECT_EQ(t.perf.median, 3);
    EXPECT_EQ(t.perf.percentile95, 4);
    EXPECT_EQ(t.built_at, 1700000000);
}

TEST(TablesCodec, ThePlanComesBack) {
    const ProjectTables t = decode_tables(encode_tables(full_tables()));
    EXPECT_EQ(t.plan.version, 8);
    EXPECT_EQ(t.plan.made_at, 1.5);
    EXPECT_EQ(t.plan.batches, full_tables().plan.batches);
    EXPECT_EQ(t.plan.left_out, full_tables().plan.left_out);
    EXPECT_EQ(t.plan.newest_batch, 98);
    EXPECT_EQ(t.plan.newest_result, 99);
    EXPECT_EQ(t.plan.awaited, (std::vector<Id>{6, 7}));
}

TEST(TablesCodec, CutAndDamagedBytesAreRefusedNotBelieved) {
    ProjectTables small = full_tables();
    small.versions[0].xml_doc = "doc";
    const std::string bytes = encode_tables(small);
    for (std::size_t n = 0; n < bytes.size(); ++n) EXPECT_THROW(decode_tables(bytes.substr(0, n)), ShmemError) << n;
    for (std::size_t n = 0; n < bytes.size(); ++n) {
        std::string damaged = bytes;
        damaged[n] = '\xff';
        try {
            decode_tables(damaged);  // must end, in bounded memory, one way or the other
        } catch (const ShmemError&) {
        }
    }
}

}  // namespace
}  // namespace sluice::test
