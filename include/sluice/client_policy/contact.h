// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// When a client speaks to a project, and what becomes of late jobs (seed 001; measured on boinc-client 7.20.5).
#include <vector>

#include "sluice/client_policy/state.h"

namespace sluice::client {

/// One for each project and type: who has no work of a type is not asked for it again soon.
struct Backoff {
    double interval = 0;  ///< seconds, before it is made random; 0: not backed off
    double until = 0;     ///< clock of `now`

    /// Work of the type was asked for and none came. Doubles from ten minutes to a day; `draw` in [0,1) stretches the
    /// wait to between half and one and a half of the interval. Nothing where the project was backed off while it was
    /// asked, beside another type.
    void refused(double now, double draw);
    /// A job of the type came.
    void clear() { *this = {}; }
};

/// Not started by its deadline: the client gives it up, with exit status 200. Started jobs run to their end.
bool is_abandoned(const Job& job, double now);

/// The latest time at which a job that ended at `finished` is reported: at once where its deadline is less than a day
/// away (or less than the minimum buffer, if that is longer), otherwise within an hour, but not later than that moment.
double report_by(double finished, double deadline, double work_buf_min);

/// A job that is done and uploaded.
struct UnreportedJob {
    double at = 0;             ///< clock of `now`
    double deadline = 0;       ///< clock of `now`
    bool immediately = false;  ///< its project wants it at once (<report_immediately/>)
};

/// Whether a project is contacted only to report its jobs: one is due (report_by), or wanted at once, or there are 64.
/// Whenever it is contacted for another reason, all are reported too.
bool must_report(const std::vector<UnreportedJob>& jobs, double now, double work_buf_min);

}  // namespace sluice::client
