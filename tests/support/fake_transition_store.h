#pragma once
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "sluice/db/transition_store.h"
#include "tests/support/fake_db.h"

namespace sluice::test {

class FakeTransitionStore final : public TransitionStore {
  public:
    explicit FakeTransitionStore(FakeDb& db) : db_(db) {}
    /// Called between deciding and writing: another process that gets in between.
    std::function<void()> before_write;

    std::set<Id> apps_with_size_classes() override {
        db_.enter("transition.apps_with_size_classes");
        std::set<Id> ids;
        for (const auto& [id, app] : db_.apps)
            if (app.size_classes() > 0) ids.insert(id);
        return ids;
    }

    std::map<int, double> typical_sizes(Id appid) override {
        db_.enter("transition.typical_sizes");
        const int classes = db_.apps.contains(appid) ? db_.apps.at(appid).size_classes() : 0;
        std::map<int, std::pair<double, int>> sums;
        for (const auto& [id, wu] : db_.workunits) {
            if (wu.appid != appid || wu.rsc_fpops_est <= 0 || id <= db_.workunits.rbegin()->first - 10000) continue;
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
        for (const auto& [id, wu] : db_.workunits) {
            if (wu.transitioner_flags == TransitionerFlags::kNoTransition) continue;
            if (scope.only) {
                if (id == *scope.only && after.id == 0) list.push_back({wu.transition_time, id});
                continue;
            }
            const bool behind = std::tie(wu.transition_time, id) > std::tie(after.transition_time, after.id);
            const bool mine = scope.share.n == 0 || id % scope.share.n == scope.share.i;
            if (wu.transition_time < now && mine && (after.id == 0 || behind)) list.push_back({wu.transition_time, id});
        }
        std::sort(list.begin(), list.end(), [](const DueWorkunit& a, const DueWorkunit& b) {
            return std::tie(a.transition_time, a.id) < std::tie(b.transition_time, b.id);
        });
        if (list.size() > static_cast<std::size_t>(limit)) list.resize(static_cast<std::size_t>(limit));
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
            auto& time = db_.workunits.at(id).transition_time;
            time = std::max(time, until);
        }
    }

  private:
    std::vector<TransitionFacts> read(std::span<const Id> ids, std::optional<std::int64_t> due_before) const {
        std::vector<Id> sorted(ids.begin(), ids.end());
        std::sort(sorted.begin(), sorted.end());
        std::vector<TransitionFacts> all;
        for (const Id id : sorted) {
            const auto at = db_.workunits.find(id);
            if (at == db_.workunits.end() || at->second.transitioner_flags == TransitionerFlags::kNoTransition)
                continue;
            if (due_before && at->second.transition_time >= *due_before) continue;
            TransitionFacts& f = all.emplace_back();
            f.wu = at->second;
            for (const auto& [rid, r] : db_.results) {
                if (r.workunitid != id) continue;
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
            const auto at = db_.results.find(c.was.id);
            if (at == db_.results.end()) return false;
            const Result& r = at->second;
            return r.server_state == c.was.server_state && r.outcome == c.was.outcome &&
                   r.validate_state == c.was.validate_state && r.file_delete_state == c.was.file_delete_state &&
                   (!c.if_deadline_before || r.report_deadline < *c.if_deadline_before);
        });
    }

    void write(const TransitionWrites& writes) {
        for (const Result& made : writes.created)
            for (const auto& [id, r] : db_.results)
                if (r.name == made.name) throw DbError(DbError::Kind::kDuplicate, 1062, "duplicate " + made.name);
        for (const ResultChange& c : writes.results) {
            Result& r = db_.results.at(c.was.id);
            r.server_state = c.server_state;
            r.outcome = c.outcome;
            r.validate_state = c.validate_state;
            r.file_delete_state = c.file_delete_state;
        }
        for (Result made : writes.created) {
            made.id = FakeDb::next_id(db_.results);
            db_.results[made.id] = made;
        }
        for (const WorkunitChange& c : writes.workunits) {
            Workunit& wu = db_.workunits.at(c.id);
            wu.need_validate = c.need_validate;
            wu.error_mask = c.error_mask;
            wu.assimilate_state = c.assimilate_state;
            wu.file_delete_state = c.file_delete_state;
            wu.hr_class = c.hr_class;
            wu.app_version_id = c.app_version_id;
            wu.size_class = c.size_class;
            wu.transition_time = c.transition_time;
        }
        std::set<std::pair<Id, Id>> keys;
        for (const TimedOut& t : writes.timed_out) keys.emplace(t.hostid, t.generalized_version);
        for (const auto& [host, version] : keys) make_host_version(host, version, keys);
        for (const TimedOut& t : writes.timed_out)
            penalize(db_.host_app_versions.at({t.hostid, t.generalized_version}), t);
    }

    void make_host_version(Id host, Id version, const std::set<std::pair<Id, Id>>& in_use) {
        auto& rows = db_.host_app_versions;
        if (rows.contains({host, version})) return;
        HostAppVersion row;
        if (const auto mine = db_.versions.find(version); mine != db_.versions.end()) {
            const AppVersion* newest = nullptr;
            for (const auto& [id, other] : db_.versions)
                if (id != version && other.appid == mine->second.appid && other.platformid == mine->second.platformid &&
                    other.plan_class == mine->second.plan_class && rows.contains({host, id}) &&
                    !in_use.contains({host, id}) && (newest == nullptr || other.version_num > newest->version_num))
                    newest = &other;
            if (newest != nullptr) {
                row = rows.at({host, newest->id});
                rows.erase({host, newest->id});
            }
        }
        row.host_id = host;
        row.app_version_id = version;
        rows[{host, version}] = row;
    }

    FakeDb& db_;
};

}  // namespace sluice::test
