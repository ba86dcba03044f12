// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "db/memory/memory_db.h"
#include "sluice/db/transition_store.h"
#include "sluice/model/host.h"
#include "sluice/model/job.h"

namespace sluice {

struct App;
struct AppVersion;

class MemoryTransitionStore final : public TransitionStore {
  public:
    explicit MemoryTransitionStore(MemoryDb& db) : db_(db) {}
    /// Called between deciding and writing: another process that gets in between.
    std::function<void()> before_write;

    std::set<Id> apps_with_size_classes() override {
        db_.enter("transition.apps_with_size_classes");
        std::set<Id> ids;
        for (const auto& [id, app] : db_.apps.rows())
            if (app.size_classes() > 0) ids.insert(id);
        return ids;
    }

    std::map<int, double> typical_sizes(Id appid) override {
        db_.enter("transition.typical_sizes");
        const App* app = db_.apps.get(appid);
        const int classes = app == nullptr ? 0 : app->size_classes();
        std::map<int, std::pair<double, int>> sums;
        const auto& rows = db_.workunits.rows();
        Id newest = db_.workunits.next_key() - 1;
        while (!rows.empty() && !rows.contains(newest)) --newest;  // the newest ones were purged
        for (auto at = rows.upper_bound(newest - 10000); at != rows.end(); ++at) {
            const Workunit& wu = at->second;
            if (wu.appid != appid || wu.rsc_fpops_est <= 0) continue;
            if (wu.size_class < 0 || wu.size_class >= classes) continue;
            sums[wu.size_class].first += std::log(wu.rsc_fpops_est);
            ++sums[wu.size_class].second;
        }
        std::map<int, double> sizes;
        for (const auto& [size_class, sum] : sums) sizes[size_class] = std::exp(sum.first / sum.second);
        return sizes;
    }

    std::vector<DueWorkunit> due(std::int64_t now, const TransitionScope& scope, DueWorkunit after,
                                 int limit) override {
        db_.enter("transition.due");
        std::vector<DueWorkunit> list;
        if (scope.only) {
            const Workunit* wu = db_.workunits.get(*scope.only);
            if (wu != nullptr && wu->transitioner_flags != TransitionerFlags::kNoTransition && after.id == 0)
                list.push_back({wu->transition_time, wu->id});
            return list;
        }
        const auto& due = db_.workunits.index().due;
        auto at = after.id == 0 ? due.begin() : due.upper_bound({after.transition_time, after.id});
        for (; at != due.end() && at->first < now && static_cast<int>(list.size()) < limit; ++at)
            if (scope.share.n == 0 || at->second % scope.share.n == scope.share.i)
                list.push_back({at->first, at->second});
        return list;
    }

    std::vector<TransitionFacts> facts(std::span<const Id> ids) override {
        db_.enter("transition.facts");
        return read(ids, std::nullopt);
    }

    int transition(std::span<const Id> ids, std::optional<std::int64_t> now,
                   const std::function<TransitionWrites(const std::vector<TransitionFacts>&)>& decide) override {
        db_.enter("transition.transition");
        for (int attempt = 1;; ++attempt) {
            const auto all = read(ids, now);
            if (all.empty()) return 0;
            const TransitionWrites writes = decide(all);
            if (before_write) before_write();
            if (still_true(writes)) {
                write(writes);
                return static_cast<int>(all.size());
            }
            if (attempt == 5) throw DbError(DbError::Kind::kRetry, 0, "a result changed while it was being decided on");
        }
    }

    void postpone(std::span<const Id> ids, std::int64_t until) override {
        db_.enter("transition.postpone");
        for (const Id id : ids) {
            db_.workunits.change(id, [until](Workunit& w) { w.transition_time = std::max(w.transition_time, until); });
        }
    }

  private:
    std::vector<TransitionFacts> read(std::span<const Id> ids, std::optional<std::int64_t> due_before) const {
        std::vector<Id> sorted(ids.begin(), ids.end());
        std::sort(sorted.begin(), sorted.end());
        std::vector<TransitionFacts> all;
        for (const Id id : sorted) {
            const Workunit* wu = db_.workunits.get(id);
            if (wu == nullptr || wu->transitioner_flags == TransitionerFlags::kNoTransition) continue;
            if (due_before && wu->transition_time >= *due_before) continue;
            TransitionFacts& f = all.emplace_back();
            f.wu = *wu;
            for (const Id rid : db_.results.index().instances(id)) {
                const Result& r = *db_.results.get(rid);
                f.results.push_back({.id = rid,
                                     .server_state = r.server_state,
                                     .outcome = r.outcome,
                                     .validate_state = r.validate_state,
                                     .file_delete_state = r.file_delete_state,
                                     .exit_status = r.exit_status,
                                     .report_deadline = r.report_deadline,
                                     .received_time = r.received_time,
                                     .hostid = r.hostid,
                                     .app_version_id = r.app_version_id,
                                     .suffix = result_name_suffix(r.name)});
            }
        }
        return all;
    }

    bool still_true(const TransitionWrites& writes) const {
        return std::all_of(writes.results.begin(), writes.results.end(), [&](const ResultChange& c) {
            const Result* there = db_.results.get(c.was.id);
            if (there == nullptr) return false;
            const Result& r = *there;
            return r.server_state == c.was.server_state && r.outcome == c.was.outcome &&
                   r.validate_state == c.was.validate_state && r.file_delete_state == c.was.file_delete_state &&
                   (!c.if_deadline_before || r.report_deadline < *c.if_deadline_before);
        });
    }

    void write(const TransitionWrites& writes) {
        for (const Result& made : writes.created)
            if (db_.results.index().by_name.contains(made.name))
                throw DbError(DbError::Kind::kDuplicate, 1062, "duplicate " + made.name);
        for (const ResultChange& c : writes.results) {
            db_.results.change(c.was.id, [&](Result& r) {
                r.server_state = c.server_state;
                r.outcome = c.outcome;
                r.validate_state = c.validate_state;
                r.file_delete_state = c.file_delete_state;
            });
        }
        for (Result made : writes.created) {
            const Id id = made.id = db_.results.next_key();
            db_.results.put(id, std::move(made));
        }
        for (const WorkunitChange& c : writes.workunits) {
            db_.workunits.change(c.id, [&](Workunit& wu) {
                wu.need_validate = c.need_validate;
                wu.error_mask = c.error_mask;
                wu.assimilate_state = c.assimilate_state;
                wu.file_delete_state = c.file_delete_state;
                wu.hr_class = c.hr_class;
                wu.app_version_id = c.app_version_id;
                wu.size_class = c.size_class;
                wu.transition_time = c.transition_time;
            });
        }
        std::set<std::pair<Id, Id>> keys;
        for (const TimedOut& t : writes.timed_out) keys.emplace(t.hostid, t.generalized_version);
        for (const auto& [host, version] : keys) make_host_version(host, version, keys);
        for (const TimedOut& t : writes.timed_out)
            db_.host_app_versions.change({t.hostid, t.generalized_version},
                                         [&](HostAppVersion& row) { penalize(row, t); });
    }

    void make_host_version(Id host, Id version, const std::set<std::pair<Id, Id>>& in_use) {
        auto& rows = db_.host_app_versions;
        if (rows.get({host, version}) != nullptr) return;
        HostAppVersion row;
        if (const AppVersion* mine = db_.versions.get(version)) {
            const AppVersion* newest = nullptr;
            for (const auto& [id, other] : db_.versions.rows())
                if (id != version && other.appid == mine->appid && other.platformid == mine->platformid &&
                    other.plan_class == mine->plan_class && rows.get({host, id}) != nullptr &&
                    !in_use.contains({host, id}) && (newest == nullptr || other.version_num > newest->version_num))
                    newest = &other;
            if (newest != nullptr) {
                row = *rows.get({host, newest->id});
                rows.remove({host, newest->id});
            }
        }
        row.host_id = host;
        row.app_version_id = version;
        rows.put({host, version}, row);
    }

    MemoryDb& db_;
};

}  // namespace sluice
