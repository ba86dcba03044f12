// SPDX-License-Identifier: LGPL-3.0-or-later
// What the feeder names in its log because it can't be sent to anybody, until somebody mends it.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "feeder/feeder.h"
#include "sluice/base/log.h"
#include "sluice/base/text.h"

namespace sluice {
namespace {

constexpr std::size_t kVersionsNamed = 5;
constexpr std::size_t kExamples = 300;  ///< bytes, about three jobs

}  // namespace

std::string Feeder::text_of(const CatalogueStore::Inactive& i) const {
    const App* app = tables_.app(i.appid);
    return fmt::format("app {} class {}: {}{}", app != nullptr ? app->name : std::to_string(i.appid), i.size_class,
                       i.jobs >= CatalogueStore::kInactiveLookedAt ? "at least " : "", i.jobs);
}

/// Said when it changes.
void Feeder::name_inactive_jobs() {
    std::string said;
    for (const CatalogueStore::Inactive& i : catalogue_.inactive_for_ever())
        said += (said.empty() ? "" : ", ") + text_of(i);
    if (std::exchange(inactive_said_, said) != said && !said.empty())
        log_warning(
            "INACTIVE jobs that no regulator will release, for their apps have no size classes ({}): give the app "
            "n_size_classes and a size_regulator, or make them UNSENT with size_regulator --app_name APP --lo 1 --hi 1 "
            "--one_pass --reclassify",
            said);
    name_unreleased_jobs();
}

/// What a size_regulator that runs would have done by the second look, ten minutes after the first. Whose it is, and on
/// which machine, does not matter.
void Feeder::name_unreleased_jobs() {
    std::string said, key;
    std::set<std::pair<Id, int>> now;
    for (const CatalogueStore::Inactive& i : catalogue_.inactive_and_none_unsent()) {
        now.emplace(i.appid, i.size_class);
        if (!unreleased_before_.contains({i.appid, i.size_class})) continue;
        said += (said.empty() ? "" : ", ") + text_of(i);
        key += fmt::format("{}/{} ", i.appid, i.size_class);
    }
    unreleased_before_ = std::move(now);
    if (std::exchange(unreleased_said_, key) != key && !key.empty())
        log_warning(
            "Jobs stay INACTIVE, and there were no UNSENT ones of their size class ten minutes ago or now ({}): does a "
            "size_regulator run for the app? (jobs of a class that does not exist, or of none: --reclassify)",
            said);
}

void Feeder::note_unwritable(const std::vector<UnwritableJob>& jobs) {
    for (const UnwritableJob& job : jobs) {
        if (!unwritable_.insert(job.result).second || unwritable_examples_.size() > kExamples) continue;
        unwritable_examples_ += fmt::format("{}[RESULT#{}] [WU#{}] {}", unwritable_examples_.empty() ? "" : "; ",
                                            job.result, job.workunit, job.why);
    }
}

/// At once, then at most once a minute.
void Feeder::name_unwritable_jobs(double now) {
    if (unwritable_.empty() || !unwritable_report_.take(now)) return;
    log_critical(
        "{} unsent jobs are left out, for no reply can carry their XML ({}{}): write it anew or cancel their workunits; "
        "the feeder looks again after {:.0f} s, or at once after touch reread_db",
        unwritable_.size(), unwritable_examples_, unwritable_examples_.size() > kExamples ? "; …" : "",
        kUnwritableRest);
    unwritable_.clear();
    unwritable_examples_.clear();
}

/// Said when it changes.
void Feeder::name_broken_versions() {
    std::string said;
    std::size_t broken = 0;
    for (const AppVersion& v : tables_.versions) {
        if (is_whole(v.xml_doc, "app_version") || ++broken > kVersionsNamed) continue;
        const App* app = tables_.app(v.appid);
        said += fmt::format("{}id {} (app {}, version {}{}{}): {}", said.empty() ? "" : "; ", v.id,
                            app != nullptr ? app->name : std::to_string(v.appid), v.version_num,
                            v.plan_class.empty() ? "" : ", plan class ", v.plan_class,
                            what_is_missing(v.xml_doc, "app_version"));
    }
    if (broken > kVersionsNamed) said += fmt::format("; and {} more", broken - kVersionsNamed);
    if (std::exchange(broken_versions_said_, said) != said && !said.empty())
        log_critical(
            "No host gets these app versions, for their app_version.xml_doc is not whole ({}): deprecate them with "
            "bin/app_settings and release them again with another number",
            said);
}

/// Of the jobs in the array. Said when there are others: hosts with versions of their own may take them.
void Feeder::name_pinned_jobs(double now) {
    if (!ready_ || !pinned_look_.take(now)) return;
    std::map<std::pair<Id, int>, std::vector<std::uint32_t>> slots;
    for (std::uint32_t i = 0; i < mirror_.size(); ++i) {
        JobSummary job;
        SlotRef ref;
        if (!mirror_.at(i).held || array_.read(i, job, ref) != SlotState::kPresent || job.app_version_num == 0)
            continue;
        const Id app = mirror_.at(i).queued.row.app_id;
        const auto fits = [&](const AppVersion& v) { return v.appid == app && v.version_num == job.app_version_num; };
        if (std::ranges::none_of(tables_.versions, fits)) slots[{app, job.app_version_num}].push_back(i);
    }
    std::set<std::pair<Id, int>> found;
    std::string text;
    for (const auto& [pinned, there] : slots) {
        found.insert(pinned);
        if (found.size() > kVersionsNamed) continue;
        const App* app = tables_.app(pinned.first);
        const UnsentRow& first = mirror_.at(there[0]).queued.row;
        text += fmt::format("{}app {}, version {}: {} of them, the first [RESULT#{}] [WU#{}]", text.empty() ? "" : "; ",
                            app != nullptr ? app->name : std::to_string(pinned.first), pinned.second, there.size(),
                            first.id, first.workunit_id);
    }
    if (found.size() > kVersionsNamed) text += fmt::format("; and {} more versions", found.size() - kVersionsNamed);
    if (std::exchange(pinned_said_, found) == found || found.empty()) return;
    log_critical(
        "Jobs in the array are pinned to versions that the feeder does not keep ({}): no host gets them. Where the "
        "version exists and is not deprecated, bin/app_settings APP min_version=VERSION lets it be sent; otherwise cancel "
        "their workunits. sched_explain --job RESULT tells which it is",
        text);
}

/// Said when there are more or fewer: a walk has seen all that it has seen before within the minute.
void Feeder::name_jobs_without_batch(double now) {
    if (!ready_ || !without_batch_look_.take(now)) return;
    const Enumerator::LeftOut out = chain_->enumerator.take_left_out();
    const std::size_t n = out.results.size();
    if (std::exchange(without_batch_said_, n) == n || n == 0) return;
    log_critical(
        "{}{} unsent jobs have no batch, and <jobs_without_batch> refuses them (the first: [RESULT#{}] [WU#{}]): no host "
        "gets them. Put a user's number there, who is charged for them, or cancel their workunits",
        n < Enumerator::kMostLeftOut ? "" : "at least ", n, out.first.id, out.first.workunit_id);
}

}  // namespace sluice
