// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// `batches`: several services of this folder in one program. They share a connection, what they read of the batches in
// progress, and one request to the feeder at the end of a turn.
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sluice/base/clock.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/life_sign.h"
#include "sluice/base/timing.h"
#include "sluice/daemon/service.h"
#include "sluice/db/batch_store.h"
#include "sluice/model/batch.h"

namespace sluice {

/// A store that reads the batches in progress, and what their workunits add up to, once a turn.
class BatchesOfTurn final : public BatchUpkeepStore {
  public:
    /// `store` outlives it.
    explicit BatchesOfTurn(BatchUpkeepStore& store) : store_(store) {}
    /// Forgets what was read.
    void begin_turn();
    std::vector<Batch> in_progress(std::int64_t now) override;
    std::optional<Batch> batch(Id id) override { return store_.batch(id); }
    std::vector<BatchProgress> progress(std::span<const Id> batches) override;
    /// What others see in this turn is read again.
    std::int64_t write(std::span<const BatchChange> changes) override;

  private:
    BatchUpkeepStore& store_;
    std::optional<std::vector<Batch>> in_progress_;
    std::map<Id, BatchProgress> progress_;
};

/// Keeps what is to be told until flush().
class BufferedNotices final : public Notices {
  public:
    /// `notices` outlives it.
    explicit BufferedNotices(Notices& notices) : notices_(notices) {}
    void reread_tables() override { reread_ = true; }
    /// Once, however often it was asked for. What could not be told is kept.
    void flush();

  private:
    Notices& notices_;
    bool reread_ = false;
};

/// One of the services. Its lock is the one of its own program: of two that would do the same work one does nothing.
struct BatchPart {
    std::string name;  ///< heads its log lines
    Service& service;
    /// nullopt: another program holds it. Empty: there is none to take.
    std::function<std::optional<FileLock>()> lock = {};
    bool lock_for_a_turn = false;  ///< a task of cron does the same work now and then
    std::shared_ptr<LifeSignWriter> life = std::make_shared<LifeSignWriter>();
};

class BatchesService final : public Service {
  public:
    /// All outlive it. The parts get their turns in this order. `once`: each part gets one, and what fails ends it.
    /// `connected`: the connection that all share is there. A part may have another one (to a replica) that fails.
    BatchesService(std::vector<BatchPart> parts, BatchesOfTurn& batches, BufferedNotices& notices, const Clock& clock,
                   bool once, std::function<bool()> connected);
    /// Each part fails alone. Throws DbError only if the shared connection can't be made: then all wait.
    Turn turn() override;

  private:
    struct State {
        BatchPart part;
        double due = 0;  ///< UNIX s
        std::optional<FileLock> held = {};
        bool said_busy = false;
        TroubleLog trouble = {};
        BackOff wait{1, 60};
        int failures = 0;  ///< one after the other
    };
    bool may_run(State& state);
    void run(State& state, double now);
    void failed(State& state, const std::string& error, DbError::Kind kind);

    std::deque<State> states_;
    BatchesOfTurn& batches_;
    BufferedNotices& notices_;
    const Clock& clock_;
    bool once_;
    std::function<bool()> connected_;
    bool failed_ = false;  ///< with `once`: the exit status
};

}  // namespace sluice
