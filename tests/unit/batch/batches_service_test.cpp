// SPDX-License-Identifier: LGPL-3.0-or-later
// `batches`: services that share a program, and fail alone.
#include "daemons/batches/batches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/base/error.h"
#include "sluice/base/project.h"
#include "tests/support/fake_clock.h"
#include "tests/support/temp_dir.h"

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Names = std::vector<std::string>;

/// Notes its turns, and does what the test wants in them.
class Worker final : public Service {
  public:
    Worker(std::string name, double interval, Names& turns)
        : Service(interval), name_(std::move(name)), turns_(turns) {}
    Turn turn() override {
        turns_.push_back(name_);
        if (work) work();
        return idle();
    }
    std::function<void()> work;

  private:
    std::string name_;
    Names& turns_;
};

/// Counts what reaches the database.
class CountingStore final : public BatchUpkeepStore {
  public:
    std::vector<Batch> in_progress(std::int64_t) override {
        ++reads;
        Batch b;
        b.id = 7, b.state = BatchState::kInProgress;
        return {b};
    }
    std::optional<Batch> batch(Id) override { return std::nullopt; }
    std::vector<BatchProgress> progress(std::span<const Id> batches) override {
        std::vector<BatchProgress> all;
        for (const Id id : batches) all.push_back({.batch = id, .njobs = 3}), ++counted;
        return all;
    }
    std::int64_t write(std::span<const BatchChange>) override { return 1; }
    int reads = 0, counted = 0;
};

class CountingNotices final : public Notices {
  public:
    void reread_tables() override {
        if (fails) throw FileError("no space");
        ++told;
    }
    int told = 0;
    bool fails = false;
};

class Batches : public testing::Test {
  protected:
    BatchesService service(bool once = false) {
        return BatchesService({{"first", first_}, {"second", second_}}, batches_, held_, clock_, once,
                              [this] { return connected_; });
    }
    Names run(BatchesService& batches) {
        turns_.clear();
        wait_ = batches.turn().wait;
        return turns_;
    }

    test::FakeClock clock_{1e9};
    Names turns_;
    Worker first_{"first", 60, turns_}, second_{"second", 10, turns_};
    CountingStore store_;
    BatchesOfTurn batches_{store_};
    CountingNotices notices_;
    BufferedNotices held_{notices_};
    double wait_ = 0;
    bool connected_ = false;
};

TEST_F(Batches, EachHasItsOwnIntervalInOneOrder) {
    BatchesService batches = service();
    EXPECT_THAT(run(batches), ElementsAre("first", "second"));
    EXPECT_EQ(wait_, 10);
    clock_.advance(10);
    EXPECT_THAT(run(batches), ElementsAre("second"));
    clock_.advance(50);
    EXPECT_THAT(run(batches), ElementsAre("first", "second"));
    clock_.set(1e9 - 5000);
    EXPECT_THAT(run(batches), ElementsAre("first", "second")) << "the clock was set back";
}

TEST_F(Batches, OneFailsAloneAndIsTriedAgain) {
    first_.work = [] { throw ConfigError("a bad row"); };
    BatchesService batches = service();
    EXPECT_THAT(run(batches), ElementsAre("first", "second"));
    clock_.advance(60);
    first_.work = [] { throw DbError(DbError::Kind::kLost, 2013, "gone"); };
    EXPECT_THAT(run(batches), ElementsAre("first", "second"));
    EXPECT_LE(wait_, 1) << "what passes is tried again soon";
}

TEST_F(Batches, AnUnreachableDatabaseStopsAllUntilItAnswers) {
    first_.work = [] { throw DbError(DbError::Kind::kCantConnect, 2002, "refused"); };
    BatchesService batches = service();
    EXPECT_THROW(batches.turn(), DbError);
    EXPECT_THAT(turns_, ElementsAre("first"));
    first_.work = {};
    EXPECT_THAT(run(batches), ElementsAre("first", "second")) << "its turn was not lost";
}

TEST_F(Batches, ATurnWithoutADatabaseIsOver) {
    const test::TempDir project;
    fs::create_directories(project / ("pid_" + short_host_name()));
    const auto life = std::make_shared<LifeSignWriter>(project.path(), "first", clock_);
    BatchesService batches({{.name = "first", .service = first_, .life = life}}, batches_, held_, clock_, false,
                           [this] { return connected_; });
    run(batches);
    first_.work = [] { throw DbError(DbError::Kind::kCantConnect, 2002, "refused"); };
    clock_.advance(60);
    EXPECT_THROW(batches.turn(), DbError);
    const auto signs = life_signs(project.path());
    ASSERT_EQ(signs.size(), 1u);
    EXPECT_EQ(signs[0].began, 0) << "it is not busy with a turn";
    EXPECT_EQ(signs[0].failing, 1e9 + 60);
    EXPECT_EQ(signs[0].error, "refused");
}

TEST_F(Batches, AnUnreachableReplicaStopsOnlyWhoReadsIt) {
    connected_ = true;
    first_.work = [this] {
        held_.reread_tables();
        throw DbError(DbError::Kind::kCantConnect, 2002, "the replica refused");
    };
    BatchesService batches = service();
    EXPECT_THAT(run(batches), ElementsAre("first", "second"));
    EXPECT_EQ(notices_.told, 1);
    EXPECT_LE(wait_, 1);
}

TEST_F(Batches, WaitBeginsWhenAPartHasFailed) {
    first_.work = [this] {
        clock_.advance(10);  // for a lock
        throw DbError(DbError::Kind::kRetry, 1205, "lock wait timeout");
    };
    BatchesService batches = service();
    testing::internal::CaptureStderr();
    run(batches);
    EXPECT_THAT(run(batches), ElementsAre("second")) << "no wait was left to the first";
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << "once is no trouble";
    clock_.advance(60);
    testing::internal::CaptureStderr();
    run(batches);
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("first: lock wait timeout")) << "twice is";
}

TEST_F(Batches, OncePassSaysThatOneFailed) {
    first_.work = [] { throw ConfigError("a bad row"); };
    EXPECT_EQ(service(true).turn().result, TurnResult::kFailed);
    EXPECT_THAT(turns_, ElementsAre("first", "second"));
    first_.work = {};
    EXPECT_EQ(service(true).turn().result, TurnResult::kIdle);
}

TEST_F(Batches, TheFeederIsAskedOnceATurn) {
    first_.work = second_.work = [this] { held_.reread_tables(); };
    BatchesService batches = service();
    run(batches);
    EXPECT_EQ(notices_.told, 1);
    clock_.advance(60);
    notices_.fails = true;
    EXPECT_THROW(batches.turn(), FileError);
    notices_.fails = false;
    first_.work = second_.work = {};
    run(batches);
    EXPECT_EQ(notices_.told, 2) << "what could not be told is told later";
}

TEST_F(Batches, BatchesInProgressAreReadOnceATurn) {
    first_.work = second_.work = [this] {
        EXPECT_EQ(batches_.in_progress(1).at(0).id, 7);
        const Id ids[] = {7, 8};
        EXPECT_EQ(batches_.progress(ids).at(1).batch, 8);
    };
    BatchesService batches = service();
    run(batches);
    EXPECT_EQ(store_.reads, 1);
    EXPECT_EQ(store_.counted, 2);
    clock_.advance(60);
    run(batches);
    EXPECT_EQ(store_.reads, 2) << "anew in each turn";
    first_.work = [this] { batches_.in_progress(1), batches_.write(std::vector<BatchChange>(1)); };
    clock_.advance(60);
    run(batches);
    EXPECT_EQ(store_.reads, 4) << "what was written is read again";
}

TEST_F(Batches, WhoIsBusyElsewhereIsLeftOut) {
    const auto file = std::filesystem::temp_directory_path() / ("batches_lock_" + std::to_string(::getpid()));
    auto other = FileLock::try_lock(file);
    std::vector<BatchPart> parts{{"first", first_, [&] { return FileLock::try_lock(file); }}, {"second", second_}};
    BatchesService batches(std::move(parts), batches_, held_, clock_, false, [] { return true; });
    EXPECT_THAT(run(batches), ElementsAre("second"));
    other.reset();
    clock_.advance(60);
    EXPECT_THAT(run(batches), ElementsAre("first", "second"));
    EXPECT_FALSE(FileLock::try_lock(file)) << "it keeps the work";
    std::filesystem::remove(file);
}

}  // namespace
}  // namespace sluice
