// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The shell around plan.h: polls each app when it is due and releases what its plan says.
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "daemons/size_regulator/settings.h"
#include "sluice/base/clock.h"
#include "sluice/base/timing.h"
#include "sluice/daemon/daemon.h"

namespace sluice {

struct App;

class Regulator final : public Service {
  public:
    Regulator(const RegulatorSettings& settings, SizeRegulatorStore& store, const Clock& clock);
    Turn turn() override { return {pass(), wait()}; }

    /// Ends the program at its first pass if an app is missing or has no classes, as upstream.
    TurnResult pass();

  private:
    /// What is remembered of an app.
    struct Watched {
        Periodic poll;
        double polled = 0;
        Periodic orphan_look{600};
        int classes = 0;
        std::int64_t orphans = 0;            ///< as reported
        bool gone = false;                   ///< reported
        std::map<int, double> reserve = {};  ///< by class: jobs that are due by share_floor, less than 1
        std::set<int> dry = {};              ///< classes that were reported as having no INACTIVE job left
    };

    /// s until the next poll of an app.
    double wait() const;
    /// "" or what is wrong with one.
    std::string check_apps();
    Watched& watched(const std::string& app) { return watched_.at(app); }
    void note_classes(const App& app);
    std::int64_t regulate(const App& app, const RegulatedApp& wish, bool& again);
    bool by_shares(const RegulatedApp& wish) const { return settings_.by_shares && wish.order == ReleaseOrder::kNone; }
    std::map<int, std::int64_t> release(const App& app, const RegulatedApp& wish, std::vector<Release>& plan);
    std::map<int, std::int64_t> release_by_shares(const App& app, const RegulatedApp& wish, const ReleasePlaces& places,
                                                  std::vector<Release>& plan);
    void report(const App& app, const Release& r, std::int64_t released);
    /// Counts over the app's whole queue: only at the start, when the number of classes changed, and now and then.
    void look_after_orphans(const App& app);

    const RegulatorSettings& settings_;
    SizeRegulatorStore& store_;
    const Clock& clock_;
    bool checked_ = false;
    std::map<std::string, Watched> watched_;  ///< by the app's name
    std::int64_t released_ = 0;               ///< in all passes
};

}  // namespace sluice
