// SPDX-License-Identifier: LGPL-3.0-or-later
// A script of what feeder, scheduler and somebody with the web server's account do to a job array in turn. The last
// writes any word that schedulers may write. Nobody ever sees a job that was not published, and when he is gone every
// slot can be filled again and taken once. (tests/shmem/hostile: the same with processes, at the same time.)
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <deque>
#include <filesystem>
#include <span>

#include "sluice/base/error.h"
#include "sluice/shmem/feeder_array.h"
#include "sluice/shmem/scheduler_array.h"
#include "src/shmem/layout.h"
#include "tests/fuzz/rpc/require.h"
#include "tests/shmem/array/whole_jobs.h"
#include "tests/support/segment_files.h"

namespace sluice {
namespace {

using namespace test;

constexpr std::uint32_t kSlots = 4, kOwners = 8;

/// A project folder, in memory, as the segment is.
struct Folder {
    Folder() {
        std::string pattern = "/dev/shm/sluice_fuzz_XXXXXX";
        path = ::mkdtemp(pattern.data());
        name = job_array_name(0x5e93e27, path);
    }
    ~Folder() {
        remove_segment_files(name);
        std::filesystem::remove_all(path);
    }
    std::filesystem::path path;
    JobArrayName name;
};

class Play {
  public:
    explicit Play(const JobArrayName& name) : name_(name) {
        JobArraySettings settings;
        settings.slots = kSlots;
        settings.owners = kOwners;
        settings.first_doc_bytes = 8192;
        feeder_ = FeederArray::create(name, settings);
        feeder_->set_ready(true);
        const int fd = ::open((content_file(name).string() + ".claims").c_str(), O_RDWR | O_CLOEXEC);
        REQUIRE(fd >= 0);
        void* at = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        ::close(fd);
        REQUIRE(at != MAP_FAILED);
        words_ = static_cast<Word*>(at);
    }
    Play(const Play&) = delete;
    Play& operator=(const Play&) = delete;
    ~Play() {
        leave();
        ::munmap(words_, kBytes);
        feeder_.reset();
        remove_segment_files(name_);
    }

    void run(std::span<const std::uint8_t> script) {
        script_ = script;
        while (!script_.empty()) {
            try {
                step();
            } catch (const ShmemError&) {  // a scheduler gives up and comes again
                leave();
            }
        }
        leave();
        expect_sound();
    }

  private:
    using Word = std::atomic<std::uint64_t>;
    static constexpr std::size_t kBytes = shm::claims_bytes(kSlots, kOwners), kWords = kBytes / sizeof(Word);

    std::uint64_t next(int bytes) {
        std::uint64_t n = 0;
        for (; bytes > 0 && !script_.empty(); --bytes, script_ = script_.subspan(1)) n = n << 8 | script_.front();
        return n;
    }
    std::uint32_t slot() { return static_cast<std::uint32_t>(next(1) % kSlots); }
    Word& word() { return words_[next(2) % kWords]; }
    Word& word_of_slot() {
        return words_[(shm::claims_offset(kOwners) + slot() * sizeof(shm::SlotClaim)) / sizeof(Word)];
    }

    void step() {
        switch (next(1) % 10) {
            case 0: word() = next(8); break;
            case 1: {
                Word& w = word_of_slot();
                const auto owner = static_cast<std::uint32_t>(next(2));
                w = shm::with_state(w, owner, static_cast<shm::WordState>(next(1)));
                break;
            }
            case 2: {
                const std::uint64_t other = word();
                word() = other;
                break;
            }
            case 3: take(slot()); break;
            case 4:
                if (!held_.empty()) held_.pop_front();
                break;
            case 5:
                if (!held_.empty()) {
                    held_.front().consume();
                    held_.pop_front();
                }
                break;
            case 6: publish(slot()); break;
            case 7: {
                JobSummary job;
                SlotRef ref;
                if (look(*feeder_, slot(), job, ref)) feeder_->withdraw(ref);
                break;
            }
            case 8: feeder_->reclaim_dead_claims(); break;
            default: (void)feeder_->stats(); leave();
        }
    }

    bool look(JobArray& array, std::uint32_t i, JobSummary& job, SlotRef& ref) const {
        if (array.read(i, job, ref) != SlotState::kPresent) return false;
        REQUIRE(job.result_id > 0 && job.result_id < next_ && is_whole(job));
        return true;
    }
    void publish(std::uint32_t i) {
        if (feeder_->publish(i, job_of(next_), doc_of(next_))) ++next_;
    }
    void take(std::uint32_t i) {
        if (!scheduler_) scheduler_ = SchedulerArray::attach(name_);
        (void)scheduler_->owner_of_slot(i);
        JobSummary job;
        SlotRef ref;
        if (!look(*scheduler_, i, job, ref)) return;
        if (const auto doc = scheduler_->peek_doc(ref)) REQUIRE(is_whole(*doc, job.result_id));
        scheduler_->note_passed_over(ref);
        scheduler_->note_infeasible(ref);
        if (auto claim = scheduler_->claim(ref)) {
            REQUIRE(is_whole(claim->doc(), job.result_id));
            held_.push_back(std::move(*claim));
        }
    }
    void leave() {
        held_.clear();
        scheduler_.reset();
    }
    /// As if the stranger's process were gone.
    void expect_sound() {
        for (int i = 0; i < 2; ++i) feeder_->reclaim_dead_claims();
        scheduler_ = SchedulerArray::attach(name_);
        for (std::uint32_t i = 0; i < kSlots; ++i) {
            publish(i);
            JobSummary job;
            SlotRef ref;
            REQUIRE(look(*scheduler_, i, job, ref));
            auto claim = scheduler_->claim(ref);
            REQUIRE(claim && is_whole(claim->doc(), job.result_id));
            claim->consume();
            REQUIRE(feeder_->read(i, job, ref) == SlotState::kEmpty);
        }
    }

    JobArrayName name_;
    std::unique_ptr<FeederArray> feeder_;
    std::unique_ptr<SchedulerArray> scheduler_;
    std::deque<Claim> held_;
    Word* words_ = nullptr;
    std::span<const std::uint8_t> script_;
    Id next_ = 1;
};

}  // namespace
}  // namespace sluice

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const sluice::Folder folder;
    constexpr std::size_t kLongest = 2000;
    sluice::Play(folder.name).run({data, std::min(size, kLongest)});
    return 0;
}
