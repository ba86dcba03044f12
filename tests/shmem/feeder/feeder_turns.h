// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The feeder's turns on a real segment, a database in memory and a clock of the test's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "db/memory/catalogue_store.h"
#include "db/memory/feeder_store.h"
#include "feeder/feeder.h"
#include "sluice/model/catalogue.h"
#include "sluice/model/job.h"
#include "sluice/shmem/scheduler_array.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fake_db.h"
#include "tests/support/fixed_rng.h"
#include "tests/support/segment_files.h"
#include "tests/support/temp_dir.h"

namespace sluice::test {

/// hr_info.txt: three quarters of the credit in class 258, a quarter in 386.
inline std::string hr_info() {
    std::string text;
    for (const char* type : {"fine", "coarse"}) {
        text += std::string("--------- ") + type + " ----------\n";
        for (int c = 0; c < 896; ++c)
            text += std::to_string(c) + (c == 258 ? " 300.000000\n" : c == 386 ? " 100.000000\n" : " 0.000000\n");
    }
    return text;
}

class FeederTurns : public testing::Test {
  protected:
    FeederTurns() {
        config_.project_dir = dir_.path().string();
        config_.shmem_work_items = 10;
        for (Id id = 1; id <= 3; ++id) {
            App& app = db_.apps[id];
            app.id = id, app.name = "app" + std::to_string(id);
        }
    }
    ~FeederTurns() override {
        feeder_.reset();
        array_.reset();
        remove_segment_files(name());
    }
    JobArrayName name() const { return job_array_name(7, dir_.path()); }
    void job(Id id, std::int64_t priority = 0, Id app = 1) {
        Result r;
        r.workunitid = id, r.appid = app, r.priority = priority, r.server_state = ServerState::kUnsent;
        r.xml_doc_in = "<result>\n</result>\n";
        db_.results.put(id, std::move(r));
        Workunit w;
        w.appid = app, w.priority = priority, w.target_nresults = 1, w.rsc_memory_bound = 4e9;
        w.rsc_disk_bound = 1e9, w.name = "wu_" + std::to_string(id);
        w.xml_doc = "<workunit>\n</workunit>\n";
        db_.workunits.put(id, std::move(w));
    }
    void goes_out(Id result) {
        db_.results.change(result, [](Result& r) { r.server_state = ServerState::kInProgress; });
    }
    Feeder& start() {
        JobArraySettings settings;
        settings.slots = static_cast<std::uint32_t>(config_.shmem_work_items);
        array_ = FeederArray::create(name(), settings);
        feeder_ =
            std::make_unique<Feeder>(config_, options_, FeederParts{*array_, store_, catalogue_}, Env{clock_, rng_});
        run(0);
        return *feeder_;
    }
    /// A turn every half second of the clock's, or every `step` seconds.
    void run(double seconds, double step = 0.5) {
        const double until = clock_.now() + seconds;
        do {
            feeder_->turn();
            clock_.advance(step);
        } while (clock_.now() < until);
    }
    std::vector<Id> jobs() const {
        std::vector<Id> ids;
        for (std::uint32_t i = 0; i < array_->size(); ++i) {
            JobSummary j;
            SlotRef ref;
            if (array_->read(i, j, ref) == SlotState::kPresent) ids.push_back(j.result_id);
        }
        return ids;
    }
    /// Sends up to n jobs for which `wanted` holds.
    std::vector<Id> send(std::size_t n, const std::function<bool(const JobSummary&)>& wanted = {}) {
        const auto scheduler = SchedulerArray::attach(name());
        std::vector<Id> ids;
        for (std::uint32_t i = 0; i < scheduler->size() && ids.size() < n; ++i) {
            JobSummary j;
            SlotRef ref;
            if (scheduler->read(i, j, ref) != SlotState::kPresent || (wanted && !wanted(j))) continue;
            auto claim = scheduler->claim(ref);
            goes_out(j.result_id);
            claim->consume();
            ids.push_back(j.result_id);
        }
        return ids;
    }

    /// A host asks: it looks at every job, passes over those that it can't have, and gets up to n of highest priority.
    std::vector<Id> visit(std::size_t n, const std::function<bool(const JobSummary&)>& can_have) {
        const auto scheduler = SchedulerArray::attach(name());
        std::vector<std::pair<JobSummary, SlotRef>> good;
        for (std::uint32_t i = 0; i < scheduler->size(); ++i) {
            JobSummary j;
            SlotRef ref;
            if (scheduler->read(i, j, ref) != SlotState::kPresent) continue;
            if (can_have(j)) {
                good.emplace_back(j, ref);
            } else {
                scheduler->note_passed_over(ref);
            }
        }
        std::stable_sort(good.begin(), good.end(),
                         [](const auto& a, const auto& b) { return a.first.priority > b.first.priority; });
        good.resize(std::min(n, good.size()));
        std::vector<Id> ids;
        for (const auto& [j, ref] : good) {
            goes_out(j.result_id);
            scheduler->claim(ref)->consume();
            ids.push_back(j.result_id);
        }
        return ids;
    }

    TempDir dir_;
    ProjectConfig config_;
    FeederOptions options_;
    FakeDb db_;
    MemoryFeederStore store_{db_.memory};
    MemoryCatalogueStore catalogue_{db_.memory};
    FakeClock clock_;
    FixedRng rng_ = FixedRng(3);
    std::unique_ptr<FeederArray> array_;
    std::unique_ptr<Feeder> feeder_;
};

}  // namespace sluice::test
