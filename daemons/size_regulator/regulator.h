#pragma once
// The shell around plan.h: polls each app when it is due and releases what its plan says.
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "daemons/size_regulator/settings.h"
#include "sluice/base/clock.h"
#include "sluice/daemon/daemon.h"

namespace sluice {

class Regulator {
  public:
    Regulator(const RegulatorSettings& settings, SizeRegulatorStore& store, const Clock& clock)
        : settings_(settings), store_(store), clock_(clock) {}

    /// Ends the program at its first pass if an app is missing or has no classes, as upstream.
    PassResult pass();
    /// An app's next poll has come.
    bool due() const;

  private:
    /// "" or what is wrong with one.
    std::string check_apps();
    /// Also when the clock was set back.
    bool is_due(double next, const RegulatedApp& app) const;
    void note_classes(const App& app);
    std::int64_t regulate(const App& app, const RegulatedApp& wish, bool& again);
    void report(const App& app, const Release& r, std::int64_t released);
    /// Counts over the app's whole queue: only at the start, when the number of classes changed, and now and then.
    void look_after_orphans(const App& app);

    const RegulatorSettings& settings_;
    SizeRegulatorStore& store_;
    const Clock& clock_;
    bool checked_ = false;
    std::map<std::string, int> classes_;
    std::map<std::string, std::int64_t> orphans_;
    std::map<std::string, double> next_orphan_look_, next_poll_;
    std::set<std::string> gone_;                 ///< apps that were reported as gone
    std::int64_t released_ = 0;                  ///< in all passes
    std::set<std::pair<std::string, int>> dry_;  ///< classes that were reported as having no INACTIVE job left
};

}  // namespace sluice
