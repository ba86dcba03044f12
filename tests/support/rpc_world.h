// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A scheduler RPC without a process: handle_rpc() on a FakeDb, a pool in memory, a fake clock. What a stage decides can
// be tested here in microseconds; faults are injected through FakeDb::before.
#include <fmt/format.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "config/load.h"
#include "db/memory/rpc_stores.h"
#include "sched/handle/pipeline.h"
#include "sluice/model/job.h"
#include "sluice/model/user.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fake_db.h"
#include "tests/support/fixed_rng.h"
#include "tests/support/reply_text.h"
#include "tests/support/request_text.h"
#include "tests/support/temp_dir.h"

namespace sluice::test {

class MemoryRpcPool final : public RpcJobPool {
  public:
    struct Slot {
        JobSummary job;
        SlotDoc doc;
        SlotState state = SlotState::kEmpty;
    };
    std::vector<Slot> slots;
    std::set<std::uint32_t> held;

    std::uint32_t size() const override { return static_cast<std::uint32_t>(slots.size()); }
    SlotState read(std::uint32_t i, JobSummary& job, SlotRef& ref) const override {
        job = slots[i].job;
        ref = {i, 0, 1};
        return slots[i].state;
    }
    bool claim(const SlotRef& ref) override {
        if (slots[ref.index].state != SlotState::kPresent) return false;
        slots[ref.index].state = SlotState::kClaimed;
        held.insert(ref.index);
        return true;
    }
    void release(const SlotRef& ref) override { leave(ref, SlotState::kPresent); }
    void discard(const SlotRef& ref) override { leave(ref, SlotState::kEmpty); }
    void consume(const SlotRef& ref) override { leave(ref, SlotState::kEmpty); }
    std::optional<std::string> workunit_xml(const SlotRef& ref) const override { return slots[ref.index].doc.wu_xml; }
    std::string keywords(const SlotRef& ref) const override { return slots[ref.index].doc.keywords; }
    bool any_present() const override { return present() > 0; }
    std::optional<SlotDoc> document(const SlotRef& ref) const override {
        if (!held.contains(ref.index)) return std::nullopt;
        return slots[ref.index].doc;
    }
    void release_all() override {
        for (const std::uint32_t i : std::set<std::uint32_t>(held)) leave({i, 0, 1}, SlotState::kPresent);
    }
    int present() const {
        return static_cast<int>(
            std::count_if(slots.begin(), slots.end(), [](const Slot& s) { return s.state == SlotState::kPresent; }));
    }

  private:
    void leave(const SlotRef& ref, SlotState state) {
        if (held.erase(ref.index) > 0) slots[ref.index].state = state;
    }
};

class RpcWorld {
  public:
    /// App "up" (1), version 100 (id 1) for kPlatform, user alice (1) with kKey, no host, no jobs.
    explicit RpcWorld(const std::string& more_config = "", int compat_level = 0);

    FakeDb db;
    FakeClock clock{1'700'000'000};
    FixedRng rng = FixedRng(5);
    MemoryRpcPool pool;
    ProjectConfig config;
    ProjectTables tables;
    int commits() const { return stores_.unit_of_work.commits; }
    const std::filesystem::path& folder() const { return folder_.path(); }
    const TempDir& files() const { return folder_; }

    Id add_host(Id userid = 1);
    User& add_user(const std::string& name, const std::string& key);
    /// A workunit with one unsent result, in the pool too. Returns the result's id.
    Id add_job(const std::function<void(Workunit&)>& change = {});
    /// A result in progress on a host, sent 1000 s ago.
    Result& add_in_progress(Id hostid, Id userid = 1);
    void reload_tables();
    /// Reads the project's files again.
    void reload_files() { files_loaded_ = load_project_files(config); }

    ReplyText send(const RequestText& request) { return send(request.text()); }
    ReplyText send(const std::string& body);
    std::function<void(const char*)> at_point;
    bool ignore_seqno = false;
    /// Other stores than those of `db`: a real database's.
    std::optional<RpcStores> real_stores;

  private:
    TempDir folder_;
    MemoryRpcStores stores_{db.memory};
    ProjectFiles files_loaded_;
};

}  // namespace sluice::test
