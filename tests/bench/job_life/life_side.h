// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A project on which the programs of one side, ours or upstream's, take jobs from create_work to purge. It counts CPU
// time: of each program with the children that it waits for, and of the database server. What made-up clients do is not
// counted.
#include <array>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sluice/shmem/scheduler_array.h"
#include "tests/support/test_project.h"

namespace sluice::test {

struct LifeSettings {
    std::filesystem::path theirs, ours, schema;  ///< empty `theirs`: ours alone; `schema`: the tables of theirs
    int rows = 100000;                           ///< in `result` besides
    int quorum = 1;
    int jobs = 1000;  ///< workunits of a round
    int pairs = 3, slots = 300;
    int sleep = 0;                              ///< s between two passes of a daemon; 0: as long as its programmer said
    std::string assimilator = "batch_collect";  ///< or "script"
    bool resident = true, together = true;
};

/// What the server counted. No load of the machine changes it.
inline constexpr std::array kServerCounts{"round trips", "statements", "rows read", "rows written", "KB of log"};
using ServerCounts = std::array<double, kServerCounts.size()>;

/// CPU time in s, user and system.
struct CpuTime {
    double programs = 0, server = 0;
    ServerCounts counts{};
    double all() const { return programs + server; }
    CpuTime operator-(const CpuTime& before) const {
        CpuTime d{programs - before.programs, server - before.server};
        for (std::size_t i = 0; i < counts.size(); ++i) d.counts[i] = counts[i] - before.counts[i];
        return d;
    }
    CpuTime& operator+=(const CpuTime& more) {
        programs += more.programs, server += more.server;
        for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += more.counts[i];
        return *this;
    }
};

enum class LifeStage { kCreate, kTransition, kFeed, kSend, kUpload, kReport, kValidate, kAssimilate, kDelete, kPurge };
inline constexpr std::array kLifeStages{"create", "transition", "feed",       "send",         "upload",
                                        "report", "validate",   "assimilate", "delete files", "purge"};
using LifeCost = std::array<CpuTime, kLifeStages.size()>;

/// Whose programs a side runs.
enum class Whose { kTheirs, kOurs };

class LifeSide {
  public:
    /// Makes the project and the rows that are there besides, and starts feeder and resident scheduler.
    LifeSide(PrivateMariaDb& server, Whose whose, const LifeSettings& settings);
    ~LifeSide();
    LifeSide(const LifeSide&) = delete;

    /// One round, a stage after the other. Throws if a stage has not done all of its jobs.
    LifeCost stage_by_stage();
    /// One round with every daemon running: the CPU time of all of it.
    CpuTime all_at_once();

  private:
    struct SentJob {
        std::string name, output;
        int host = 0;
    };
    std::string program(const std::string& name) const;
    std::string config() const;
    void add_rows();
    void start_servers();

    CpuTime used() const;
    ServerCounts counts();
    void settle();
    void measured(LifeStage stage, const std::function<void()>& work);
    RunResult run_counted(const std::vector<std::string>& words, RunOptions options);

    void stage_inputs();
    void create_work();
    void passes(LifeStage stage, std::vector<std::string> words, const std::function<bool()>& done);
    void transition();
    std::vector<std::string> assimilator() const;
    void hand_out();
    std::vector<SentJob> request(int host, bool asks, const std::vector<SentJob>& reports);
    void upload(const SentJob& job);
    void report();
    void serve_clients();
    std::deque<Subprocess> start_daemons() const;
    void feed(int wanted);
    int in_array() const;
    int added() const;
    void array_is_empty();
    int next_host();
    void begin_round();
    void end_round();

    int instances() const { return settings_.jobs * settings_.quorum; }
    std::int64_t workunits(SqlLiteral condition);
    std::int64_t results(SqlLiteral condition);
    void expect(const char* what, std::int64_t seen, std::int64_t wanted) const;
    void expect_files(bool there) const;
    void expect_collected() const;

    PrivateMariaDb& server_;
    const Whose whose_;
    const LifeSettings settings_;
    TestProject project_;
    std::unique_ptr<Subprocess> feeder_, scheduler_, uploads_;
    std::unique_ptr<SchedulerArray> array_;  ///< ours
    double ended_ = 0;                       ///< s of CPU of programs that have ended
    LifeCost cost_{};
    Id last_id_ = 0;  ///< of the workunits that were there before this round
    int created_ = 0, next_host_ = 0, sent_ = 0;
    int sent_before_ = 0, added_before_ = 0;  ///< when the array was last empty
    std::int64_t granted_ = 0;
    std::vector<int> seqnos_;
    std::vector<SentJob> jobs_;  ///< of this round, as clients got them
};

}  // namespace sluice::test
