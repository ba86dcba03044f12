// SPDX-License-Identifier: LGPL-3.0-or-later
// The whole shell on random projects: memory and MariaDB hold the same rows afterwards, pass after pass.
#include <gtest/gtest.h>

#include <cmath>

#include "daemons/transitioner/transitioner.h"
#include "db/memory/transition_store.h"
#include "sluice/base/log.h"
#include "tests/support/database_rows.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fixed_rng.h"
#include "tests/support/private_mariadb.h"

namespace sluice::test {
namespace {

class RandomProject {
  public:
    explicit RandomProject(std::uint64_t seed, std::int64_t now) : random_(seed), now_(now) {
        for (Id id = 1; id <= 4; ++id)
            db.versions[id] = {.id = id,
                               .appid = 1,
                               .platformid = 1,
                               .version_num = static_cast<int>(id) * 100,
                               .xml_doc = "",
                               .plan_class = ""};
        for (Id id = 1; id <= 60; ++id) add_workunit(id);
        App& app = db.apps[1];
        app.id = 1, app.name = "a", app.n_size_classes = static_cast<int>(seed % 4);
    }
    FakeDb db;

  private:
    int pick(int n) { return static_cast<int>(random_.below(static_cast<std::uint64_t>(n))); }
    template <typename T>
    T one_of(std::initializer_list<T> values) {
        return *(values.begin() + pick(static_cast<int>(values.size())));
    }

    void add_workunit(Id id) {
        Workunit& wu = db.workunits[id];
        wu.id = id, wu.appid = 1, wu.name = "wu'" + std::to_string(id), wu.delay_bound = pick(2000000);
        wu.transition_time = now_ - 20 + pick(25), wu.batch = pick(3), wu.priority = pick(10) - 5;
        wu.min_quorum = 1 + pick(3), wu.target_nresults = wu.min_quorum + pick(2), wu.max_error_results = pick(4);
        wu.max_total_results = 2 + pick(6), wu.max_success_results = 6, wu.size_class = pick(4) - 1;
        wu.rsc_fpops_est = pick(8) ? std::pow(10, 10 + pick(6000) / 1000.0) : 0;
        wu.result_template_file = pick(10) ? "out" : "missing", wu.hr_class = pick(2) * 386,
        wu.app_version_id = pick(2);
        wu.error_mask = pick(8) ? 0 : 16,
        wu.assimilate_state = one_of({AssimilateState::kInit, AssimilateState::kReady, AssimilateState::kDone});
        wu.file_delete_state = pick(5) ? FileDeleteState::kInit : FileDeleteState::kDone;
        wu.transitioner_flags =
            one_of({TransitionerFlags::kNormal, TransitionerFlags::kNormal, TransitionerFlags::kNormal,
                    TransitionerFlags::kNoTransition, TransitionerFlags::kNoNewResults});
        const int n = pick(6);
        for (int i = 0; i < n; ++i) add_result(wu, i);
    }
    void add_result(Workunit& wu, int i) {
        const Id id = db.results.next_key();
        Result& r = db.results[id];
        r.id = id, r.workunitid = wu.id, r.appid = 1, r.name = wu.name + "_" + std::to_string(i * 2);
        r.server_state = one_of({ServerState::kInactive, ServerState::kUnsent, ServerState::kInProgress,
                                 ServerState::kOver, ServerState::kOver, ServerState::kOver});
        r.report_deadline = now_ - 30 + pick(60), r.hostid = 1 + pick(5),
        r.app_version_id = one_of<Id>({1, 2, 3, 4, -2, 0});
        if (r.server_state != ServerState::kOver) return;
        r.outcome = static_cast<Outcome>(1 + pick(7)), r.validate_state = static_cast<ValidateState>(pick(6));
        r.file_delete_state = static_cast<FileDeleteState>(pick(3)), r.received_time = now_ - pick(100);
        r.exit_status = one_of({0, 1, kExitAbortedViaGui});
        if (r.outcome == Outcome::kSuccess && r.validate_state == ValidateState::kValid) wu.canonical_resultid = id;
    }
    FixedRng random_;
    std::int64_t now_;
};

std::vector<std::string> described(const FakeDb& db) {
    std::vector<std::string> lines;
    const auto add = [&](auto... values) {
        std::ostringstream line;
        line.precision(12);
        ((line << values << ' '), ...);
        lines.push_back(line.str());
    };
    for (const auto& [id, w] : db.workunits)
        add("wu", id, w.need_validate, w.error_mask, int(w.assimilate_state), int(w.file_delete_state), w.hr_class,
            w.app_version_id, w.transition_time, w.name, w.delay_bound, w.canonical_resultid, w.target_nresults,
            w.size_class);
    for (const auto& [id, r] : db.results)
        add("result", id, r.workunitid, int(r.server_state), int(r.outcome), int(r.validate_state),
            int(r.file_delete_state), r.name, r.priority, r.random, r.size_class, r.batch, r.appid, r.create_time,
            r.xml_doc_in, r.report_deadline);
    for (const auto& [key, v] : db.host_app_versions)
        add("hav", v.host_id, v.app_version_id, v.max_jobs_per_day, v.consecutive_valid, v.turnaround.n,
            v.turnaround.avg, v.turnaround.var, v.turnaround.q, v.n_jobs_today);
    return lines;
}

TEST(TransitionerInMemoryAndOnMariaDb, LeavesTheSameRows) {
    log_set_level(LogLevel{0});
    auto& server = PrivateMariaDb::shared();
    Database db(server.create_project_database("equality"));
    TempDir project;
    project.write("out", "<file_info>\n<name><OUTFILE_0/></name>\n</file_info>\n<result>\n</result>\n");
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        truncate_all_tables(db);
        FakeClock clock;
        RandomProject random(seed, clock.now_sec());
        store_rows(db, random.db);
        MemoryTransitionStore memory(random.db.memory);
        const auto real = make_transition_store(db);
        TransitionParams params{.compat_level = static_cast<int>(seed % 2),
                                .priority_on_over = seed % 3 == 0 ? 10 : 0,
                                .priority_on_over_except_error = 5,
                                .delete_delay = seed % 4 == 0 ? 60 : 0,
                                .hr_class_static = seed % 5 == 0,
                                .daily_result_quota = 100};
        for (int pass = 0; pass < 4; ++pass) {
            for (TransitionStore* store : {static_cast<TransitionStore*>(&memory), real.get()}) {
                ResultTemplates templates(project.path(), "http://x", nullptr);
                FixedRng rng(seed * 100 + static_cast<std::uint64_t>(pass));
                Transitioner(TransitionerOptions{}, params, *store, templates, {clock, rng}).pass();
            }
            const auto real_rows = described(load_rows(db)), memory_rows = described(random.db);
            ASSERT_EQ(real_rows.size(), memory_rows.size()) << "seed " << seed << ", pass " << pass;
            for (std::size_t i = 0; i < real_rows.size(); ++i)
                ASSERT_EQ(real_rows[i], memory_rows[i]) << "seed " << seed << ", pass " << pass;
            clock.advance(40 * (pass + 1) * (pass + 1));
        }
    }
}

}  // namespace
}  // namespace sluice::test
