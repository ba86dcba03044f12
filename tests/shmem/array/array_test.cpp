// SPDX-License-Identifier: LGPL-3.0-or-later
// One process at a time: states of a slot, cold data, tables, sizes, permissions, and segments that are not ours.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <grp.h>
#include <pwd.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <fstream>

#include "sluice/base/error.h"
#include "src/shmem/layout.h"
#include "tests/shmem/array/array_fixture.h"

namespace sluice::test {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// The types forbid what a process has no right to: this compiles only if they do.
template <typename Array>
concept Publishes = requires(Array array) {
    array.publish(0u, JobSummary{}, SlotDoc{});
};
template <typename Array>
concept Claims = requires(Array array) {
    array.claim(SlotRef{});
};
static_assert(Publishes<FeederArray> && !Claims<FeederArray>);
static_assert(Claims<SchedulerArray> && !Publishes<SchedulerArray>);
static_assert(!Publishes<JobArray> && !Claims<JobArray>);

TEST_F(ArrayTest, SlotGoesFromEmptyToClaimedAndBack) {
    const auto feeder = create(3);
    const auto scheduler = SchedulerArray::attach(name_);
    JobSummary job;
    SlotRef ref;
    EXPECT_EQ(scheduler->read(1, job, ref), SlotState::kEmpty);
    ASSERT_TRUE(feeder->publish(1, job_of(42), doc_of(42)));
    EXPECT_FALSE(feeder->publish(1, job_of(43), doc_of(43))) << "not empty";
    ASSERT_EQ(scheduler->read(1, job, ref), SlotState::kPresent);
    EXPECT_TRUE(is_whole(job));
    EXPECT_EQ(job.result_id, 42);
    {
        auto claim = scheduler->claim(ref);
        ASSERT_TRUE(claim);
        EXPECT_TRUE(is_whole(claim->doc(), 42));
        EXPECT_EQ(scheduler->read(1, job, ref), SlotState::kClaimed);
        EXPECT_EQ(scheduler->owner_of_slot(1), this_process());
        EXPECT_FALSE(scheduler->claim(ref)) << "one claim at a time";
        EXPECT_FALSE(feeder->withdraw(ref)) << "claimed";
    }
    EXPECT_EQ(scheduler->read(1, job, ref), SlotState::kPresent) << "the claim's destructor gives it back";
    auto claim = scheduler->claim(ref);
    ASSERT_TRUE(claim);
    claim->consume();
    EXPECT_EQ(scheduler->read(1, job, ref), SlotState::kEmpty);
    EXPECT_FALSE(scheduler->owner_of_slot(1));
    EXPECT_EQ(feeder->stats().empty, 3u);
}

TEST_F(ArrayTest, AReferenceToFormerContentClaimsNothing) {
    const auto feeder = create(1);
    const auto scheduler = SchedulerArray::attach(name_);
    JobSummary job;
    SlotRef old;
    ASSERT_TRUE(feeder->publish(0, job_of(1), doc_of(1)));
    ASSERT_EQ(scheduler->read(0, job, old), SlotState::kPresent);
    ASSERT_TRUE(feeder->withdraw(old));
    ASSERT_TRUE(feeder->publish(0, job_of(2), doc_of(2)));
    EXPECT_FALSE(scheduler->claim(old));
    EXPECT_FALSE(scheduler->peek_doc(old));
    EXPECT_FALSE(feeder->withdraw(old));
    scheduler->note_infeasible(old);
    scheduler->note_passed_over(old);
    EXPECT_EQ(scheduler->infeasible_count(0), 0u);
    EXPECT_EQ(scheduler->passed_over_count(0), 0u);
    EXPECT_EQ(scheduler->stats().claims_lost, 1u);
}

TEST_F(ArrayTest, CountsBelongToTheContent) {
    const auto feeder = create(2);
    const auto scheduler = SchedulerArray::attach(name_);
    feeder->heartbeat(1000);
    JobSummary committed = job_of(5);
    committed.hr_class = 258;
    ASSERT_TRUE(feeder->publish(0, committed, doc_of(5)));
    EXPECT_EQ(scheduler->infeasible_count(0), 1u) << "upstream starts committed jobs at 1";
    JobSummary job;
    SlotRef ref;
    ASSERT_EQ(scheduler->read(0, job, ref), SlotState::kPresent);
    scheduler->note_infeasible(ref);
    scheduler->note_passed_over(ref);
    feeder->heartbeat(2000);
    scheduler->note_passed_over(ref);
    EXPECT_EQ(feeder->infeasible_count(0), 2u);
    EXPECT_EQ(feeder->passed_over_count(0), 2u);
    EXPECT_EQ(feeder->first_passed_over(0), 1000);
    ASSERT_TRUE(feeder->withdraw(ref));
    ASSERT_TRUE(feeder->publish(0, job_of(6), doc_of(6)));
    EXPECT_EQ(feeder->infeasible_count(0), 0u);
    EXPECT_EQ(feeder->passed_over_count(0), 0u);
    EXPECT_EQ(feeder->first_passed_over(0), 0);
}

TEST_F(ArrayTest, ColdDataOfAnyLengthComeBackWhole) {
    const auto length = [](Id id) { return 1 + static_cast<std::size_t>(id * 7919 % 65000); };
    const auto feeder = create(64);
    const auto scheduler = SchedulerArray::attach(name_);
    Id id = 0;
    for (std::uint32_t step = 0; step < 40 * 64; ++step) {
        const std::uint32_t i = step % 64;
        JobSummary job;
        SlotRef ref;
        if (scheduler->read(i, job, ref) == SlotState::kPresent) {
            const auto doc = scheduler->peek_doc(ref);
            ASSERT_TRUE(doc);
            ASSERT_TRUE(is_whole(*doc, job.result_id, length(job.result_id)));
            if (step % 3 == 0) scheduler->claim(ref)->consume();
        }
        if (scheduler->read(i, job, ref) == SlotState::kEmpty) {
            ++id;
            ASSERT_TRUE(feeder->publish(i, job_of(id), doc_of(id, length(id))));
        }
    }
    const auto stats = feeder->stats();
    EXPECT_LT(stats.doc_bytes_total, 3 * stats.doc_bytes_used) << "the pool may not waste much";
}

TEST_F(ArrayTest, MemoryIsATwentiethOfUpstreams) {
    const auto feeder = create(4000);
    for (Id id = 1; id <= 4000; ++id) {
        ASSERT_TRUE(feeder->publish(static_cast<std::uint32_t>(id - 1), job_of(id), doc_of(id, 2048)));
    }
    const double allowed = 4000 * 66e3 / 20;
    double taken = 0;
    for (const auto& file : segment_files(name_)) {
        struct stat info {};
        ASSERT_EQ(::stat(file.c_str(), &info), 0);
        taken += static_cast<double>(info.st_blocks) * 512;
    }
    EXPECT_LT(taken, allowed);
    EXPECT_LT(static_cast<double>(feeder->stats().segment_bytes), allowed);
}

TEST_F(ArrayTest, RemovedJobsFreeMemoryInIdleSchedulers) {
    const auto scheduler_of = [&] { return SchedulerArray::attach(name_); };
    for (const bool killed : {false, true}) {
        auto feeder = create(100);
        for (Id id = 1; id <= 100; ++id)
            ASSERT_TRUE(feeder->publish(static_cast<std::uint32_t>(id - 1), job_of(id), doc_of(id, 20000)));
        const auto idle = scheduler_of();
        ASSERT_TRUE(idle->tables());
        const int fd = ::open(content_file(name_).c_str(), O_RDONLY | O_CLOEXEC);
        ASSERT_GE(fd, 0);
        struct stat full {
        }, freed{};
        ASSERT_EQ(::fstat(fd, &full), 0);
        EXPECT_GT(full.st_blocks * 512, 100 * 20000);
        if (killed) {  // the next feeder does it: this one's name is still there
            feeder.reset();
            feeder = create(1);
        } else {
            feeder->close_and_remove();
        }
        ASSERT_EQ(::fstat(fd, &freed), 0);
        ::close(fd);
        EXPECT_LT(freed.st_blocks * 512, 20000) << (killed ? "killed" : "ended");
        EXPECT_FALSE(idle->current());
        if (killed) feeder->close_and_remove();
    }
}

TEST_F(ArrayTest, TablesAreSwappedWhole) {
    const auto feeder = create(1);
    const auto scheduler = SchedulerArray::attach(name_);
    EXPECT_TRUE(scheduler->tables()->apps.empty());
    ProjectTables tables;
    tables.apps.resize(1000);
    tables.apps[999].name = "last";
    tables.built_at = 1;
    feeder->publish_tables(tables);
    const auto first = scheduler->tables();
    EXPECT_EQ(first->apps.at(999).name, "last");
    EXPECT_EQ(scheduler->tables(), first) << "decoded once a generation";
    for (int i = 2; i < 300; ++i) {
        tables.built_at = i;
        feeder->publish_tables(tables);
    }
    EXPECT_EQ(scheduler->tables()->built_at, 299);
    EXPECT_EQ(first->built_at, 1) << "what a reader holds stays";
    EXPECT_LT(feeder->stats().segment_bytes, 3u << 20) << "old generations are given back";
}

TEST_F(ArrayTest, ReadyAndCurrentFollowTheFeeder) {
    auto feeder = create(1);
    const auto scheduler = SchedulerArray::attach(name_);
    EXPECT_FALSE(scheduler->ready());
    EXPECT_TRUE(scheduler->current());
    feeder->set_ready(true);
    EXPECT_TRUE(scheduler->ready());
    feeder.reset();  // as if it had died: the array stays usable
    EXPECT_TRUE(scheduler->ready());
    const auto next = create(1);
    EXPECT_FALSE(scheduler->ready()) << "closed by its successor";
    EXPECT_FALSE(scheduler->current());
    const auto anew = SchedulerArray::attach(name_);
    next->set_ready(true);
    EXPECT_TRUE(anew->ready());
    next->close_and_remove();
    EXPECT_FALSE(anew->ready());
    EXPECT_FALSE(anew->current());
    EXPECT_THAT(leftovers(), ::testing::IsEmpty());
}

TEST_F(ArrayTest, ASecondFeederIsRefusedByName) {
    const auto feeder = create(1);
    EXPECT_THAT([&] { create(1); }, ThrowsMessage<ShmemError>(HasSubstr("PID " + std::to_string(::getpid()))));
    EXPECT_TRUE(SchedulerArray::attach(name_)->current()) << "and does no harm";
}

TEST_F(ArrayTest, WithoutAFeederTheMessageSaysSo) {
    EXPECT_THAT([&] { SchedulerArray::attach(name_); },
                ThrowsMessage<ShmemError>(HasSubstr("no feeder works with that key")));
    EXPECT_THAT([&] { JobArray::attach_read_only(name_); },
                ThrowsMessage<ShmemError>(HasSubstr("no feeder works with that key")));
}

/// The bytes of a file, in place: its owner and mode stay.
void put_file(const std::filesystem::path& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
}

std::string get_file(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

TEST_F(ArrayTest, ForeignAndTruncatedSegmentsAreRefused) {
    const struct {
        std::string bytes, says;
    } cases[] = {
        {"", "feeder is starting"},
        {"x", "damaged"},
        {std::string(39, 'x'), "damaged"},
        {std::string(40, 'x'), "is not a job array"},
        {std::string(100000, 'x'), "is not a job array"},
        {std::string(100000, '\0'), "feeder is starting"},
    };
    create(5).reset();
    for (const auto& c : cases) {
        put_file(content_file(name_), c.bytes);
        EXPECT_THAT([&] { SchedulerArray::attach(name_); }, ThrowsMessage<ShmemError>(HasSubstr(c.says)))
            << c.bytes.size();
        EXPECT_THAT([&] { JobArray::attach_read_only(name_); }, ThrowsMessage<ShmemError>(HasSubstr(c.says)));
    }
    const auto feeder = create(5);
    EXPECT_TRUE(SchedulerArray::attach(name_)->current()) << "a feeder replaces whatever is there";
}

TEST_F(ArrayTest, EveryCutOfAGoodSegmentIsRefused) {
    const auto feeder = create(5);
    feeder->publish(0, job_of(1), doc_of(1));
    const auto content = content_file(name_), claims = std::filesystem::path(content.string() + ".claims");
    const std::string image = get_file(content), claims_image = get_file(claims);
    const std::size_t first = shm::first_part_bytes(5);
    for (std::size_t bytes = 0; bytes < first; bytes += bytes < 200 ? 1 : 997) {
        put_file(content, image.substr(0, bytes));
        EXPECT_THROW(SchedulerArray::attach(name_), ShmemError) << bytes;
    }
    put_file(content, image);
    for (std::size_t bytes = 0; bytes < claims_image.size(); bytes += 997) {
        put_file(claims, claims_image.substr(0, bytes));
        EXPECT_THROW(SchedulerArray::attach(name_), ShmemError) << bytes;
    }
    put_file(claims, claims_image);
    put_file(content, image.substr(0, first));  // the pool is missing
    const auto scheduler = SchedulerArray::attach(name_);
    JobSummary job;
    SlotRef ref;
    ASSERT_EQ(scheduler->read(0, job, ref), SlotState::kPresent);
    EXPECT_THAT([&] { (void)scheduler->peek_doc(ref); }, ThrowsMessage<ShmemError>(HasSubstr("damaged")));
}

TEST_F(ArrayTest, AnotherLayoutNamesBothSides) {
    const auto feeder = create(5);
    const int fd = ::open(content_file(name_).c_str(), O_RDWR);
    const std::uint32_t other = 77;
    ASSERT_EQ(::pwrite(fd, &other, sizeof other, 8), 4);
    ::close(fd);
    EXPECT_THAT([&] { SchedulerArray::attach(name_); },
                ThrowsMessage<ShmemError>(
                    ::testing::AllOf(HasSubstr("layout 77"), HasSubstr("layout 6 "), HasSubstr("restart the feeder"))));
}

TEST_F(ArrayTest, TooLittleMemoryIsErrorNotSignal) {
    EXPECT_THAT([&] { create(4000000000u); },
                ThrowsMessage<ShmemError>(::testing::AllOf(HasSubstr("/dev/shm"), HasSubstr("MB free"))));
    EXPECT_THAT(leftovers(), ::testing::IsEmpty());
    EXPECT_NO_THROW(create(10)) << "the lock was given back";
}

TEST_F(ArrayTest, ReadOnlyAccessChangesNothing) {
    const auto feeder = create(1);
    ASSERT_TRUE(feeder->publish(0, job_of(9), doc_of(9)));
    const auto viewer = JobArray::attach_read_only(name_);
    JobSummary job;
    SlotRef ref;
    ASSERT_EQ(viewer->read(0, job, ref), SlotState::kPresent);
    EXPECT_TRUE(is_whole(viewer->peek_doc(ref).value(), 9));
}

TEST_F(ArrayTest, NamesDependOnKeyAndProject) {
    EXPECT_EQ(job_array_name(5, "/a").prefix, job_array_name(5, "/a").prefix);
    EXPECT_NE(job_array_name(5, "/a").prefix, job_array_name(6, "/a").prefix);
    EXPECT_NE(job_array_name(5, "/a").prefix, job_array_name(5, "/b").prefix);
    std::filesystem::create_directory(project_ / "real");
    std::filesystem::create_directory_symlink(project_ / "real", project_ / "link");
    EXPECT_EQ(job_array_name(5, project_ / "real").prefix, job_array_name(5, project_ / "link").prefix);
}

}  // namespace
}  // namespace sluice::test
