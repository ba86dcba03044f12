// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <map>

#include "db/memory/memory_db.h"
#include "sluice/db/share_store.h"

namespace sluice {

/// ShareStore over a MemoryDb, which has no user_submit rows: quotas and start times are here. What the feeder hands to
/// schedulers is in MemoryDb::batch_shares after each change.
class MemoryShareStore final : public ShareStore {
  public:
    explicit MemoryShareStore(MemoryDb& db) : db_(db) {}
    std::map<Id, double> quotas;  ///< by user; may change at any time
    double since = 0;             ///< ProjectSpeed's: versions have no time here

    void prepare() override {}
    ProjectSpeed project_speed(double now) override;
    std::optional<UserQuota> quota(Id user) override;
    double advance(Id user, double now, double delta, bool write) override;
    std::vector<BatchWork> works(double now, std::optional<Id> only = {}) override;
    BatchWork work_without_batch(double now, Id owner) override;
    std::vector<Id> without_place() override;
    std::vector<DailyWork> work_by_day(std::int64_t from_day) override;
    std::vector<ShareUser> users() override;
    void change(const ShareSettings& settings, double now, const std::function<void(ShareBook&)>& work) override;
    void look(const ShareSettings& settings, double now, const std::function<void(ShareBook&)>& work) override;

  private:
    ShareBook open_book(const ShareSettings& settings, double now) const;
    void read_workunits(BatchWork& work) const;
    void read_results(BatchWork& work) const;
    void publish();

    MemoryDb& db_;
    share::ClockState state_;
    std::map<Id, double> charged_;  ///< of batches that were in the clock once
    std::map<Id, StreamCharge> streams_;
    std::map<Id, double> measured_;
    double flops_ = 0;
    std::map<Id, double> own_lst_;
    std::map<std::pair<std::int64_t, Id>, double> days_;
};

}  // namespace sluice
