// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>

#include "db/memory/batch_plan_store.h"
#include "db/memory/memory_db.h"
#include "db/store_rules.h"
#include "sluice/db/catalogue_store.h"
#include "sluice/model/catalogue.h"

namespace sluice {

struct Workunit;

class MemoryCatalogueStore final : public CatalogueStore {
  public:
    explicit MemoryCatalogueStore(MemoryDb& db) : db_(db) {}

    ProjectTables load_tables() override {
        db_.enter("catalogue.load_tables");
        ProjectTables tables;
        for (const auto& [id, platform] : db_.platforms.rows())
            if (!platform.deprecated) tables.platforms.push_back(platform);
        tables.apps = apps();
        tables.versions = usable_versions(versions(), tables);
        for (const auto& [id, assignment] : db_.assignments.rows())
            if (assignment.multi) tables.broadcasts.push_back(assignment);
        tables.perf = perf();
        tables.batch_shares = db_.batch_shares;
        tables.has_turnaround_verdicts = !db_.low_turnaround.rows().empty();
        tables.plan = MemoryBatchPlanStore(db_).plan_for_schedulers();  // here batches come whole: nobody notes one
        tables.file_groups = file_groups();
        return tables;
    }

    std::vector<FileGroup> keep_file_groups(std::int64_t now) override {
        db_.enter("catalogue.keep_file_groups");
        const auto& members = db_.group_workunits.rows();
        std::vector<std::pair<Id, Id>> done;
        auto at = members.upper_bound(group_cursor_);
        for (int left = 5000; left > 0 && at != members.end(); --left, ++at) {
            const Workunit* w = db_.workunits.get(at->first.second);
            if (w == nullptr || w->file_delete_state != FileDeleteState::kInit) done.push_back(at->first);
            group_cursor_ = at->first;
        }
        if (at == members.end()) group_cursor_ = {};
        for (const auto& member : done) db_.group_workunits.remove(member);
        std::vector<FileGroup> idle;
        std::vector<Id> old;
        for (const FileGroup& group : file_groups()) {
            const bool noted = db_.file_groups.get(group.id)->idle_since > 0;
            if (noted == (group.first != 0)) idle.push_back(group);
            if (group.idle_since > 0 && group.idle_since < now - 90 * 86400) old.push_back(group.id);
        }
        for (const FileGroup& group : idle)
            db_.file_groups.change(group.id, [&](FileGroup& row) { row.idle_since = group.first == 0 ? now : 0; });
        for (const Id id : old) db_.file_groups.remove(id);
        return file_groups();
    }

    int update_credit_scales(const ResourceOf& resource) override {
        db_.enter("catalogue.update_credit_scales");
        const CreditScales scales = new_credit_scales(apps(), versions(), resource);
        for (const AppVersion& v : scales.versions)
            db_.versions.change(v.id, [&](AppVersion& row) { row.pfc_scale = v.pfc_scale; });
        for (const App& app : scales.apps)
            db_.apps.change(app.id, [&](App& row) { row.min_avg_pfc = app.min_avg_pfc; });
        return static_cast<int>(scales.versions.size() + scales.apps.size());
    }

    std::vector<Inactive> inactive_for_ever() override {
        db_.enter("catalogue.inactive_for_ever");
        std::vector<Inactive> found;
        for (const auto& [key, jobs] : db_.results.index().inactive_of_app) {
            const App* app = db_.apps.get(key.first);
            if (app == nullptr || app->deprecated || app->size_classes() > 0) continue;
            found.push_back({key.first, key.second, static_cast<std::int64_t>(jobs.size())});
        }
        return found;
    }

    std::vector<Inactive> inactive_and_none_unsent() override {
        db_.enter("catalogue.inactive_and_none_unsent");
        const auto is_unsent = [&](Id app, int size_class) {
            const auto& unsent = db_.results.index().unsent_of_app;
            const auto of_app = unsent.find(app);
            return of_app != unsent.end() && std::ranges::any_of(of_app->second, [&](Id id) {
                       return db_.results.get(id)->size_class == size_class;
                   });
        };
        std::vector<Inactive> found;
        for (const auto& [key, jobs] : db_.results.index().inactive_of_app) {
            const App* app = db_.apps.get(key.first);
            if (app == nullptr || app->deprecated || app->size_classes() == 0) continue;
            if (is_unsent(key.first, key.second)) continue;
            found.push_back({key.first, key.second, static_cast<std::int64_t>(jobs.size())});
        }
        return found;
    }

  private:
    std::vector<FileGroup> file_groups() const {
        std::vector<FileGroup> all;
        const auto& members = db_.group_workunits.rows();
        for (const auto& [id, row] : db_.file_groups.rows()) {
            FileGroup& group = all.emplace_back(row);
            const auto first = members.lower_bound({id, 0}), end = members.lower_bound({id + 1, 0});
            if (first == end) continue;
            group.first = first->first.second;
            group.last = std::prev(end)->first.second;
            group.idle_since = 0;
        }
        std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
        return all;
    }
    std::vector<App> apps() const {
        std::vector<App> all;
        for (const auto& [id, app] : db_.apps.rows())
            if (!app.deprecated) all.push_back(app);
        return all;
    }
    std::vector<AppVersion> versions() const {
        std::vector<AppVersion> all;
        for (const auto& [id, version] : db_.versions.rows())
            if (!version.deprecated || is_homogeneous(version.appid)) all.push_back(version);
        return all;
    }
    bool is_homogeneous(Id appid) const {
        const App* app = db_.apps.get(appid);
        return app != nullptr && app->homogeneous_app_version && !app->deprecated;
    }
    HostPerfInfo perf() const {
        const std::vector<double>& speeds = db_.hosts.index().active_speeds;
        const auto n = static_cast<std::int64_t>(speeds.size());
        HostPerfInfo info;
        if (n < kMinHostsForPerf) return info;
        double sum = 0, squares = 0;
        for (const double s : speeds) sum += s;
        info.mean = sum / static_cast<double>(n);
        for (const double s : speeds) squares += (s - info.mean) * (s - info.mean);
        info.stddev = std::sqrt(squares / static_cast<double>(n));
        info.median = speeds[static_cast<std::size_t>(percentile_index(n, 50))];
        info.percentile95 = speeds[static_cast<std::size_t>(percentile_index(n, 95))];
        return info;
    }
    MemoryDb& db_;
    std::pair<Id, Id> group_cursor_{};  ///< the last one that keep_file_groups() looked at
};

}  // namespace sluice
