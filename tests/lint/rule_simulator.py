# SPDX-License-Identifier: LGPL-3.0-or-later
"""When a daemon acts, and what it tells other programs, is decided in its service (sluice/daemon/service.h). sched/sim runs the
same services, and calls whoever is due in one place: a second decision there would be one that programs don't make."""
import re

from tree import Finding, blanked, line_of

FOLDER, CALLER = "sched/sim/", "sched/sim/timetable.cpp"
# The feeder's turns lie between two requests; census runs once before the first of them.
MAY_CALL = re.compile(r"(?:feeder|hr_census)(?:\.|->)turn\(\)$")
RULES = [
    (re.compile(r"\w+\(?\)?(?:\.|->)(?:turn|pass)\(\)"), "only timetable.cpp gives services their turns"),
    (re.compile(r"\b(?:\w+_pass|write_hr_census)\("), "a pass of a daemon is made by its service"),
    (re.compile(r"\bPeriodic\b"), "what is due when is decided by the service"),
    (re.compile(r"\bask_feeder_to_reread\b"), "who has the feeder read its tables is the service, by Notices"),
]


def check(tree):
    for path in tree.sources():
        if not path.startswith(FOLDER) or path == CALLER:
            continue
        text = blanked(tree.text(path))
        for pattern, what in RULES:
            for match in pattern.finditer(text):
                if not MAY_CALL.search(match.group(0)):
                    yield Finding(path, line_of(text, match.start()), what)
