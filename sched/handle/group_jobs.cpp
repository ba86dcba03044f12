// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/handle/group_jobs.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "sluice/match/job_summary_of.h"

namespace sluice {
namespace {

constexpr int kJobsWanted = 32;     ///< of the host's groups, of the array and of the database together
constexpr std::size_t kGroups = 4;  ///< asked for in a request
constexpr std::size_t kPlaces = 8;  ///< where it looks, in all of them together
constexpr int kWorkunitsSeen = 25;  ///< behind each place, and from the group's first on

/// Groups of the host's files that have work, in random order, at most kGroups.
std::vector<const FileGroup*> groups_of(const Rpc& rpc) {
    std::vector<const FileGroup*> groups;
    for (const StickyFile& file : rpc.request.files)
        if (const FileGroup* group = rpc.services.tables.file_group(file.name); group != nullptr && group->last > 0)
            groups.push_back(group);
    std::ranges::sort(groups);
    groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
    for (std::size_t i = 0; i < std::min(groups.size(), kGroups); ++i)
        std::swap(groups[i], groups[i + rpc.services.env.rng.below(groups.size() - i)]);
    groups.resize(std::min(groups.size(), kGroups));
    return groups;
}

/// Evenly spaced in the group, from a random one on: what is out lies together, as the array's jobs go out by their
/// ids, and hosts with the same file are not all to want the same jobs.
void add_places(const FileGroup& group, std::size_t places, Rng& rng, std::vector<GroupQuery::Part>& parts) {
    const auto width = static_cast<std::uint64_t>(std::max<Id>(group.last - group.first, 0)) + 1;
    const std::uint64_t start = rng.below(width);
    for (std::size_t i = 0; i < places; ++i)
        parts.push_back({group.id, group.first + static_cast<Id>((start + i * width / places) % width)});
}

bool uses(const JobSummary& job, const std::unordered_set<std::uint32_t>& files) {
    const auto end = job.input_files.begin() + std::min<std::ptrdiff_t>(job.n_input_files, std::ssize(job.input_files));
    return std::any_of(job.input_files.begin(), end,
                       [&](const InputFileHint& f) { return files.contains(f.name_hash); });
}

}  // namespace

void load_group_jobs(const Rpc& rpc) {
    const ProjectTables& tables = rpc.services.tables;
    const auto by_files = [](const App& app) { return app.locality_scheduling == 1; };
    if (tables.file_groups.empty() || rpc.request.files.empty() || std::ranges::none_of(tables.apps, by_files)) return;
    const std::vector<const FileGroup*> groups = groups_of(rpc);
    if (groups.empty()) return;
    GroupQuery query{{}, kWorkunitsSeen, kJobsWanted};
    std::unordered_set<std::uint32_t> files;
    for (const FileGroup* group : groups) {
        files.insert(file_name_hash(group->name.data(), group->name.size()));
        add_places(*group, kPlaces / groups.size(), rpc.services.env.rng, query.parts);
    }
    std::vector<Id> in_array;
    int of_these_files = 0;
    JobSummary job;
    SlotRef ref;
    for (std::uint32_t slot = 0; slot < rpc.services.pool.size(); ++slot) {
        if (rpc.services.pool.read(slot, job, ref) != SlotState::kPresent) continue;
        in_array.push_back(job.result_id);
        if (uses(job, files) && ++of_these_files >= kJobsWanted) return;
    }
    for (UnsentJob& found : rpc.services.stores.results.jobs_of_groups(query)) {
        if (std::ranges::find(in_array, found.result.id) != in_array.end()) continue;
        Workunit& w = found.workunit;
        const App* const app = tables.app(w.appid);
        if (app == nullptr || !by_files(*app)) continue;
        const JobSummary summary =
            job_summary_of(w, found.result, rpc.config.reliable_on_priority, found.result.create_time);
        rpc.pool->add(summary,
                      {std::move(w.name), std::move(w.xml_doc), std::move(w.keywords), std::move(found.result.name)});
    }
}

std::vector<std::string> files_of_past_groups(const ProjectTables& tables, const std::vector<StickyFile>& files,
                                              std::int64_t now) {
    std::vector<std::string> names;
    if (tables.file_groups.empty()) return names;
    for (const StickyFile& file : files) {
        const FileGroup* const group = tables.file_group(file.name);
        if (group != nullptr && group->over(now) && names.size() < kMaxFilesToDelete) names.push_back(group->name);
    }
    return names;
}

}  // namespace sluice
