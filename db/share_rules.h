// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What every ShareStore does alike, apart from SQL.
#include <algorithm>

#include "sluice/db/share_store.h"
#include "sluice/model/records.h"

namespace sluice {

inline constexpr double kFlopsPerDailyCredit = 1e9 / 200;  ///< 200 a day are one GFLOPS

/// A result that is over may still change for so long, s: its reporter is not done, or the transitioner is late.
inline constexpr double kSettledAfter = 3600;

/// StreamWork::next_until of a stream that is settled up to `until`. Above the present: the server's clock was wrong,
/// and is right again.
inline double next_settled(double until, double now) {
    return until > now ? now - kSettledAfter : std::max(until, now - kSettledAfter);
}

/// ShareStore::work_without_batch() of one that nothing is stored of, before its rows are read.
inline BatchWork stream_without_batch(Id owner, double now) {
    BatchWork w;
    w.id = kWithoutBatch;
    w.user_id = owner;
    w.state = BatchState::kInit;
    w.stream.emplace();
    w.stream->until = now - kSettledAfter;
    return w;
}

/// A quota of user_submit as shares are made of it; 0: the user has none.
inline double usable_quota(double quota) {
    return quota > 0 ? std::clamp(quota, share::kLeastQuota, share::kMostQuota) : 0;
}

/// Workunit.rsc_fpops_est as shares count it: sums stay finite whatever a submitter wrote.
inline double usable_estimate(double fpops) { return std::clamp(fpops, 0.0, 1e30); }

/// What an instance used: the time of the devices that it held times their speed. A device is a processor by the host's
/// benchmark (without one: 1e9), or all that the app version takes of processors and GPUs, `r.flops_estimate`, where
/// that is more. Both stores bound what a client tells: three years, 1e12 operations a second of a processor, 1e15 of a
/// version, and no longer on GPUs than from the instance's sending to its report.
inline double measured_operations(const Result& r, double benchmark) {
    constexpr double kLongest = 1e8;
    const double processor = benchmark >= 1e6 ? std::min(benchmark, 1e12) : 1e9;
    const double known =
        r.sent_time > 0 ? static_cast<double>(std::max<std::int64_t>(r.received_time - r.sent_time, 0)) : kLongest;
    const double on_devices = std::min({std::max(r.elapsed_time, 0.0), known, kLongest});
    return std::max(std::clamp(std::max(r.elapsed_time, r.cpu_time), 0.0, kLongest) * processor,
                    on_devices * std::clamp(r.flops_estimate, 0.0, 1e15));
}

/// ShareBook::own_lst of a user, to be stored: of what the clock was given, and what it has made of his LST.
inline double next_own_lst(const ShareBook& book, Id user, double own_before, double lst_before, double lst) {
    const auto own = book.own_lst.find(user);
    if (own == book.own_lst.end() || own->second != own_before) return lst;
    return own_before == lst_before ? lst : own_before + (lst - lst_before);
}

/// The clock takes the quotas that the book has of user_submit.
inline void take_quotas(ShareBook& book, double now) {
    const auto& users = book.clock.users();
    for (const auto& [user, quota] : book.quotas) {
        const auto known = users.find(user);
        if (quota > 0 && (known == users.end() || known->second.quota != quota)) book.clock.set_quota(now, user, quota);
    }
}

}  // namespace sluice
