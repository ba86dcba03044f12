// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/sim/timetable.h"

#include <limits>

#include "sluice/base/error.h"

namespace sluice::sim {

void Timetable::take_turns() {
    for (Entry& e : entries_)
        if (e.wanted ? e.wanted() : e.next <= clock_.now()) e.next = next_of(e, e.service->turn());
}

double Timetable::next_of(const Entry& entry, const Turn& turn) const {
    const double now = clock_.now();
    if (entry.every > 0) return now + entry.every;
    switch (turn.result) {
        case TurnResult::kIdle: return now + turn.wait;
        case TurnResult::kWorked: return now;
        case TurnResult::kFinished: return std::numeric_limits<double>::infinity();
        case TurnResult::kFailed: break;
    }
    throw Error("a daemon gave up: its program would log why");
}

}  // namespace sluice::sim
