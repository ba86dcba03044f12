// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/census/hr_census.h"

#include "sluice/base/files.h"
#include "sluice/base/log.h"
#include "sluice/daemon/daemon.h"
#include "sluice/match/matcher.h"
#include "sluice/model/hr_info.h"

namespace sluice {
namespace {

/// Upstream's filter: hosts that have been at work lately.
constexpr double kMinRecentCredit = 1;

struct HrCensus {
    HrInfo credit;
    std::size_t hosts = 0, unknown = 0;  ///< the latter: of a class of neither type
};

HrCensus take_census(HrCensusStore& store, int compat_level) {
    HrCensus census;
    for (std::size_t type = 1; type < census.credit.size(); ++type) census.credit[type].assign(kHrClasses, 0);
    store.hosts(kMinRecentCredit, compat_level > 0, [&](const Host& host, const std::string& platform) {
        if (stop_requested()) throw Stopped();
        ++census.hosts;
        bool known = false;
        for (int type = 1; type < kHrTypes; ++type) {
            const int hr_class = sluice::hr_class(host, static_cast<HrType>(type), compat_level, {&platform, 1});
            if (hr_class <= 0 || hr_class >= kHrClasses) continue;
            known = true;
            census.credit[static_cast<std::size_t>(type)][static_cast<std::size_t>(hr_class)] += host.expavg_credit;
        }
        census.unknown += known ? 0 : 1;
    });
    return census;
}

}  // namespace

TurnResult write_hr_census(HrCensusStore& store, const std::filesystem::path& project, int compat_level) {
    try {
        const HrCensus census = take_census(store, compat_level);
        const auto file = project / "hr_info.txt";
        write_file_atomically(file, hr_info_text(census.credit));
        log_normal("{} hosts with recent credit, {} of them of no known HR class: {} written", census.hosts,
                   census.unknown, file.string());
    } catch (const Stopped&) {
        log_normal("stopped; hr_info.txt stays as it was");
    }
    return TurnResult::kFinished;
}

}  // namespace sluice
