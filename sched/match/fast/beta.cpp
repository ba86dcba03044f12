#include "sched/match/rows.h"

namespace sluice::match {
namespace {
Verdict check(const MatchContext& x, const Candidate& c) {
    return c.app.app->beta && !x.user.allow_beta_work ? refuse(Reason::kBetaNotAllowed, 0, 1) : feasible();
}
}  // namespace
const FastRow kBetaRow{"beta", Scope::kApp, check, "Beta apps only for volunteers who allow test applications."};
}  // namespace sluice::match
