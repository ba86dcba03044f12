// What the feeder names in its log because it can't be sent to anybody, until somebody mends it.
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "feeder/feeder.h"
#include "sluice/base/log.h"
#include "sluice/base/whole_document.h"

namespace sluice {
namespace {

constexpr int kVersionsNamed = 5;
constexpr std::size_t kExamples = 300;  ///< bytes, about three jobs

}  // namespace

void Feeder::note_unwritable(const std::vector<UnwritableJob>& jobs) {
    unwritable_ += jobs.size();
    for (const UnwritableJob& job : jobs) {
        if (unwritable_examples_.size() > kExamples) return;
        unwritable_examples_ += fmt::format("{}[RESULT#{}] [WU#{}] {}", unwritable_examples_.empty() ? "" : "; ",
                                            job.result, job.workunit, job.why);
    }
}

/// At once, then at most once a minute.
void Feeder::name_unwritable_jobs(double now) {
    if (unwritable_ == 0 || !unwritable_report_.take(now)) return;
    log_critical(
        "{} unsent jobs are left out, for no reply can carry their XML ({}{}): write it anew or cancel their workunits; "
        "the feeder looks again after {:.0f} s, or at once after touch reread_db",
        unwritable_, unwritable_examples_, unwritable_ > 1 ? "; …" : "", kUnwritableRest);
    unwritable_ = 0;
    unwritable_examples_.clear();
}

/// Said when it changes.
void Feeder::name_broken_versions() {
    std::string said;
    int broken = 0;
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

}  // namespace sluice
