// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Non-CPU-intensive apps: every host has one job of each, whatever it asks for.
#include "sched/match/walk.h"

namespace sluice::match {

struct NciScan {
    const MatchContext& x;
    JobPool& pool;
    FactsSource& facts;
    Trace* trace;
    const ActivePolicies& policies;
    const AppTable& apps;
    VersionChooser& chooser;

    std::vector<Chosen> run(const std::vector<Id>& apps_on_host, Picked& picked, MatchStats& stats);

  private:
    struct Found {
        JobSummary job;
        SlotRef ref;
        const AppFacts* app;
        const Offer* offer;
    };
    std::vector<Found> find(const std::vector<Id>& apps_on_host, MatchStats& stats) const;
    void tell(const Found& f, const Verdict& v) const;
};

}  // namespace sluice::match
