#include "sched/match/rows.h"

namespace sluice::match {
namespace {
double value(const MatchContext&, const Candidate& c) { return c.app.selected ? 0 : -1; }
}  // namespace
const ScoreRow kNonPreferredAppRow{"non_preferred_app",
                                   Scope::kApp,
                                   value,
                                   1,
                                   1,
                                   Ranking::kNone,
                                   "-1 for an app that the volunteer did not select but allows."};
}  // namespace sluice::match
