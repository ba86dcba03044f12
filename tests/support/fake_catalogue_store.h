#pragma once
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "db/catalogue_rules.h"
#include "sluice/db/catalogue_store.h"
#include "tests/support/fake_db.h"

namespace sluice::test {

class FakeCatalogueStore final : public CatalogueStore {
  public:
    explicit FakeCatalogueStore(FakeDb& db) : db_(db) {}

    ProjectTables load_tables() override {
        db_.enter("catalogue.load_tables");
        ProjectTables tables;
        for (const auto& [id, platform] : db_.platforms)
            if (!platform.deprecated) tables.platforms.push_back(platform);
        tables.apps = apps();
        tables.versions = usable_versions(versions(), tables);
        for (const auto& [id, assignment] : db_.assignments)
            if (assignment.multi) tables.broadcasts.push_back(assignment);
        tables.perf = perf();
        tables.has_turnaround_verdicts = !db_.low_turnaround.empty();
        tables.file_groups = file_groups();
        return tables;
    }

    std::vector<FileGroup> keep_file_groups(std::int64_t now) override {
        db_.enter("catalogue.keep_file_groups");
        std::erase_if(db_.group_workunits, [&](const std::pair<Id, Id>& member) {
            const auto w = db_.workunits.find(member.second);
            return w == db_.workunits.end() || w->second.assimilate_state == AssimilateState::kDone;
        });
        for (const FileGroup& group : file_groups())
            if (group.first != 0 || group.idle_since == 0)
                db_.file_groups.at(group.id).idle_since = group.first != 0 ? 0 : now;
        std::erase_if(db_.file_groups, [&](const auto& row) {
            return row.second.idle_since > 0 && row.second.idle_since < now - 90 * 86400;
        });
        return file_groups();
    }

    int update_credit_scales(const ResourceOf& resource) override {
        db_.enter("catalogue.update_credit_scales");
        const CreditScales scales = new_credit_scales(apps(), versions(), resource);
        for (const AppVersion& v : scales.versions) db_.versions.at(v.id).pfc_scale = v.pfc_scale;
        for (const App& app : scales.apps) db_.apps.at(app.id).min_avg_pfc = app.min_avg_pfc;
        return static_cast<int>(scales.versions.size() + scales.apps.size());
    }

    std::vector<Inactive> inactive_for_ever() override {
        db_.enter("catalogue.inactive_for_ever");
        std::map<std::pair<Id, int>, std::int64_t> jobs;
        for (const auto& [id, r] : db_.results) {
            const auto app = db_.apps.find(r.appid);
            if (app == db_.apps.end() || app->second.deprecated || app->second.size_classes() > 0) continue;
            if (r.server_state == ServerState::kInactive) ++jobs[{r.appid, r.size_class}];
        }
        std::vector<Inactive> found;
        for (const auto& [key, n] : jobs) found.push_back({key.first, key.second, n});
        return found;
    }

    std::vector<Inactive> inactive_and_none_unsent() override {
        db_.enter("catalogue.inactive_and_none_unsent");
        std::map<std::pair<Id, int>, std::int64_t> jobs;
        std::set<std::pair<Id, int>> unsent;
        for (const auto& [id, r] : db_.results) {
            const auto app = db_.apps.find(r.appid);
            if (app == db_.apps.end() || app->second.deprecated || app->second.size_classes() == 0) continue;
            if (r.server_state == ServerState::kInactive) ++jobs[{r.appid, r.size_class}];
            if (r.server_state == ServerState::kUnsent) unsent.insert({r.appid, r.size_class});
        }
        std::vector<Inactive> found;
        for (const auto& [key, n] : jobs)
            if (!unsent.contains(key)) found.push_back({key.first, key.second, n});
        return found;
    }

  private:
    std::vector<FileGroup> file_groups() const {
        std::map<std::string, FileGroup> by_name;
        for (const auto& [id, row] : db_.file_groups) {
            FileGroup& group = by_name[row.name] = row;
            for (const auto& [of, workunit] : db_.group_workunits) {
                if (of != id) continue;
                if (group.first == 0) group.first = workunit;
                group.last = workunit;
                group.idle_since = 0;
            }
        }
        std::vector<FileGroup> all;
        for (const auto& [name, group] : by_name) all.push_back(group);
        return all;
    }
    std::vector<App> apps() const {
        std::vector<App> all;
        for (const auto& [id, app] : db_.apps)
            if (!app.deprecated) all.push_back(app);
        return all;
    }
    std::vector<AppVersion> versions() const {
        std::vector<AppVersion> all;
        for (const auto& [id, version] : db_.versions)
            if (!version.deprecated || is_homogeneous(version.appid)) all.push_back(version);
        return all;
    }
    bool is_homogeneous(Id appid) const {
        const auto app = db_.apps.find(appid);
        return app != db_.apps.end() && app->second.homogeneous_app_version && !app->second.deprecated;
    }
    HostPerfInfo perf() const {
        std::vector<double> speeds;
        for (const auto& [id, host] : db_.hosts)
            if (host.expavg_credit > 10) speeds.push_back(host.p_fpops);
        const auto n = static_cast<std::int64_t>(speeds.size());
        HostPerfInfo info;
        if (n < kMinHostsForPerf) return info;
        std::sort(speeds.begin(), speeds.end());
        double sum = 0, squares = 0;
        for (const double s : speeds) sum += s;
        info.mean = sum / static_cast<double>(n);
        for (const double s : speeds) squares += (s - info.mean) * (s - info.mean);
        info.stddev = std::sqrt(squares / static_cast<double>(n));
        info.median = speeds[static_cast<std::size_t>(percentile_index(n, 50))];
        info.percentile95 = speeds[static_cast<std::size_t>(percentile_index(n, 95))];
        return info;
    }
    FakeDb& db_;
};

}  // namespace sluice::test
