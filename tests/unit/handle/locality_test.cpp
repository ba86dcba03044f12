// SPDX-License-Identifier: LGPL-3.0-or-later
// Locality by groups of files: a host that has a group's file gets the group's jobs although the array holds none, and
// deletes the file when the group is over.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "sluice/match/job_summary_of.h"
#include "tests/support/rpc_world.h"

namespace sluice::test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr Id kGroup = 3;

class Locality : public ::testing::Test {
  protected:
    explicit Locality(int level = 1, const std::string& more_config = "") : world(more_config, level) {
        world.db.apps[1].locality_scheduling = 1;
        world.db.file_groups[kGroup] = {.name = "big", .id = kGroup};
        world.reload_tables();
        host = world.add_host();
        world.db.before = [this](const std::string& verb) { asked += verb == "results.jobs_of_groups"; };
    }
    /// A job with the sticky file; in the group. Its result.
    Id local_job(bool in_array, Id batch = 0) {
        const Id result = add_job([&](Workunit& w) {
            w.xml_doc = "<file_info>\n<name>big</name>\n<nbytes>1000</nbytes>\n<sticky/>\n</file_info>\n" + w.xml_doc;
            w.batch = batch;
        });
        world.db.group_workunits.put({kGroup, world.db.results[result].workunitid}, true);
        if (!in_array) world.pool.slots.pop_back();
        return result;
    }
    Id other_job(Id batch = 0) {
        return add_job([&](Workunit& w) { w.batch = batch; });
    }
    /// As the feeder puts it into the array.
    Id add_job(const std::function<void(Workunit&)>& change) {
        const Id result = world.add_job(change);
        const Result& r = world.db.results[result];
        world.pool.slots.back().job = job_summary_of(world.db.workunits[r.workunitid], r);
        return result;
    }
    /// A host with these files asks for one job.
    RequestText request(const std::vector<std::string>& files, double seconds = 5) {
        RequestText r = asking(host, seconds);
        r.seqno = ++seqno_;
        r.list_others = false;  // or what was sent before would be sent again
        for (const std::string& name : files)
            r.more +=
                "<file_info><name>" + name + "</name><nbytes>1000</nbytes><status>1</status><sticky/></file_info>";
        return r;
    }
    ReplyText send(const std::vector<std::string>& files, double seconds = 5) {
        world.clock.advance(60);
        tables_of_now();
        return world.send(request(files, seconds));
    }
    /// As the feeder publishes them; shares are the test's.
    void tables_of_now() {
        auto shares = world.tables.batch_shares;
        world.reload_tables();
        world.tables.batch_shares = std::move(shares);
    }
    std::string name(Id result) { return world.db.results[result].name; }

    RpcWorld world;
    Id host = 0;
    int asked = 0;

  private:
    int seqno_ = 0;
};

TEST_F(Locality, AHostWithTheFileGetsItsJobs) {
    other_job();
    const Id local = local_job(false);
    const ReplyText reply = send({"big"});
    EXPECT_THAT(reply.result_names(), ElementsAre(name(local)));
    EXPECT_EQ(reply.malformed(), "");
    EXPECT_TRUE(reply.has("<name>big</name>")) << "the workunit's document";
    EXPECT_EQ(world.db.results[local].server_state, ServerState::kInProgress);
    EXPECT_EQ(world.db.results[local].hostid, host);
    EXPECT_EQ(world.pool.present(), 1) << "the array's job stays for others";
    EXPECT_EQ(asked, 1);
}

TEST_F(Locality, NobodyElseIsAskedAbout) {
    const Id other = other_job();
    const Id local = local_job(false);
    EXPECT_THAT(send({}).result_names(), ElementsAre(name(other)));
    EXPECT_THAT(send({"small", "big2"}).result_names(), IsEmpty()) << "the array is empty now";
    EXPECT_EQ(asked, 0);
    EXPECT_EQ(world.db.results[local].server_state, ServerState::kUnsent);
}

TEST_F(Locality, IsSwitchedOffByTheAppsColumn) {
    const Id other = other_job();
    local_job(false);
    world.db.apps[1].locality_scheduling = 0;
    EXPECT_THAT(send({"big"}).result_names(), ElementsAre(name(other)));
    EXPECT_THAT(send({"big"}).result_names(), IsEmpty());
    EXPECT_EQ(asked, 0);
}

/// The file of a group is an input of two apps' jobs, of which one is not distributed by its files.
TEST_F(Locality, AnotherAppsJobsGoByTheArrayOnly) {
    world.db.apps[2] = world.db.apps[1];
    world.db.apps[2].id = 2, world.db.apps[2].name = "other", world.db.apps[2].locality_scheduling = 0;
    world.db.versions[2] = world.db.versions[1];
    world.db.versions[2].id = world.db.versions[2].appid = 2;
    const Id in_array = other_job(), others = local_job(false), unknown = local_job(false), local = local_job(false);
    world.db.workunits[world.db.results[others].workunitid].appid = 2;
    world.db.workunits[world.db.results[unknown].workunitid].appid = 77;
    EXPECT_THAT(send({"big"}, 1e5).result_names(), ::testing::UnorderedElementsAre(name(in_array), name(local)));
}

TEST_F(Locality, GroupThatArrayHoldsEnoughOfCostsNothing) {
    for (int i = 0; i < 31; ++i) local_job(true);
    EXPECT_THAT(send({"big"}).result_names(), SizeIs(1));
    EXPECT_EQ(asked, 1) << "30 are too few to choose from";
    for (int i = 0; i < 2; ++i) local_job(true);
    EXPECT_THAT(send({"big"}).result_names(), SizeIs(1));
    EXPECT_EQ(asked, 1);
}

TEST_F(Locality, JobOfArrayIsNotThereTwice) {
    const Id a = local_job(true), b = local_job(false);
    const auto sent = send({"big"}, 1e5).result_names();
    EXPECT_THAT(sent, ::testing::UnorderedElementsAre(name(a), name(b)));
    EXPECT_EQ(world.pool.present(), 0) << "the array's was taken there";
}

TEST_F(Locality, AJobThatSomebodyElseSentIsDropped) {
    other_job();
    const Id taken = local_job(false), left = local_job(false);
    world.db.before = [&](const std::string& verb) {
        if (verb == "results.touch_workunits") world.db.results[taken].server_state = ServerState::kInProgress;
    };
    const auto sent = send({"big"}, 1e5).result_names();
    EXPECT_THAT(sent, Not(Contains(name(taken))));
    EXPECT_THAT(sent, Contains(name(left)));
    EXPECT_EQ(world.db.results[taken].hostid, 0);
}

TEST_F(Locality, AllPartsOfTheArrayAreSeen) {
    world.config.mm_max_slots = 1;
    for (int i = 0; i < 20; ++i) other_job();
    const Id local = local_job(false);
    EXPECT_THAT(send({"big"}).result_names(), ElementsAre(name(local)));
}

TEST_F(Locality, JobsForNobodyAreNotSent) {
    const Id failed = local_job(false), done = local_job(false), held = local_job(false);
    other_job();
    world.db.workunits[world.db.results[failed].workunitid].error_mask = 16;
    world.db.workunits[world.db.results[done].workunitid].canonical_resultid = 7;
    world.db.results[held].server_state = ServerState::kInactive;
    EXPECT_THAT(send({"big"}, 1e5).result_names(), SizeIs(1));
}

/// The owner of the local jobs is charged as anyone: his batch may be in front, but not by more than tau.
class LocalityAndShares : public Locality, public ::testing::WithParamInterface<int> {
  protected:
    LocalityAndShares() : Locality(GetParam(), "<share_rule>settled</share_rule><share_floor>0</share_floor>") {}
    void lag(double hours) {
        world.tables.batch_shares[1] = {1, 1.8e9 + hours * 3600, 1};
        world.tables.batch_shares[2] = {2, 1.8e9, 1};
    }
};
TEST_P(LocalityAndShares, AHitWinsWithinTauAndNotBeyond) {
    const Id near = local_job(false, 1), far = local_job(false, 1), least = other_job(2);
    lag(0.5);
    const auto first = send({"big"}).result_names();
    ASSERT_THAT(first, SizeIs(1));
    EXPECT_THAT(first, ::testing::AnyOf(ElementsAre(name(near)), ElementsAre(name(far))));
    lag(6.1);
    EXPECT_THAT(send({"big"}).result_names(), ElementsAre(name(least)));
}
/// A stream (3), a batch (2) and locality (1), one job of each: whoever's end time is least goes first, in whatever
/// order they stand, if the others are more than tau behind.
TEST_P(LocalityAndShares, KindsGoByTheirLeastEndTime) {
    local_job(false, 1), other_job(2), other_job(3);
    std::vector<Id> order{1, 2, 3};
    do {
        for (std::size_t place = 0; place < 3; ++place)
            world.tables.batch_shares[order[place]] = {order[place], 1.8e9 + static_cast<double>(place) * 7 * 3600, 1};
        for (auto& [id, r] : world.db.results) r.server_state = ServerState::kUnsent;
        for (auto& slot : world.pool.slots) slot.state = SlotState::kPresent;
        const auto sent = send({"big"}).result_names();
        ASSERT_THAT(sent, SizeIs(1));
        const auto first =
            std::ranges::find_if(world.db.results, [&](auto& row) { return row.second.name == sent[0]; });
        EXPECT_EQ(world.db.workunits[first->second.workunitid].batch, order[0]);
    } while (std::ranges::next_permutation(order).found);
}

/// The seed allowed one user to use locality, because nobody was charged for it.
TEST_P(LocalityAndShares, TwoOwnersOfAFileGoByTags) {
    local_job(false, 1);
    const Id least = local_job(false, 2);
    other_job(1);
    lag(6.1);
    EXPECT_THAT(send({"big"}).result_names(), ElementsAre(name(least)));
}

INSTANTIATE_TEST_SUITE_P(Levels, LocalityAndShares, ::testing::Values(0, 1));

class PastGroups : public Locality {
  protected:
    static constexpr const char* kOrder = "<delete_file_info>big</delete_file_info>";
    void idle(std::int64_t seconds) { world.db.file_groups[kGroup].idle_since = world.clock.now_sec() - seconds; }
};

TEST_F(PastGroups, TheirFilesAreToBeDeleted) {
    idle(3600);
    EXPECT_TRUE(send({"big"}, 0).has(kOrder)) << "whether it asks for work or not";
    EXPECT_TRUE(send({"big"}).has(kOrder));
    EXPECT_EQ(asked, 0);
    EXPECT_FALSE(send({}).has("<delete_file_info>")) << "the host has none";
}

TEST_F(PastGroups, WorkThatComesWithinHourFindsFile) {
    idle(3500);  // and a minute passes
    EXPECT_FALSE(send({"big"}).has("<delete_file_info>"));
}

TEST_F(PastGroups, OnlyFilesThatTheServerKnows) {
    idle(3600);
    const ReplyText reply = send({"BIG", "client_state.xml", "biggest", "&lt;b&gt;"});
    EXPECT_FALSE(reply.has("<delete_file_info>")) << reply.text();
}

TEST_F(PastGroups, NotWhatThisReplyNeeds) {
    const Id local = local_job(true);
    world.db.group_workunits.clear();
    idle(3600);
    const ReplyText reply = send({"big"});
    EXPECT_THAT(reply.result_names(), ElementsAre(name(local)));
    EXPECT_FALSE(reply.has("<delete_file_info>"));
}

TEST_F(PastGroups, TwentyInAReply) {
    std::vector<std::string> names;
    for (Id id = 100; id < 150; ++id) {
        names.push_back(fmt::format("f{}", id));
        world.db.file_groups[id] = {.name = names.back(), .id = id, .idle_since = 1};
    }
    EXPECT_EQ(send(names).count("<delete_file_info>"), 20);
}

}  // namespace
}  // namespace sluice::test
