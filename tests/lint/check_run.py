#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""What ctest does not look at: how many cases a run executed, and which were skipped.

check_run.py FOLDER LOG: LOG is ctest's LastTest.log; FOLDER holds least_cases.txt (one number) and allowed_skips.txt (a line
"Suite.Name reason" for each case that may be skipped). Exit status 1, and one line for each complaint, if fewer cases ran or
another one was skipped: a run that executed little is no proof of anything.
"""
import re
import sys

PASSED = re.compile(r"^\[  PASSED  \] (\d+) tests?\.", re.M)
SKIPPED = re.compile(r"^\[  SKIPPED \] ([\w/.]+)(?: \(\d+ ms\))?$", re.M)


def allowed_skips(text):
    """Name -> reason; a name without a reason is a mistake."""
    allowed = {}
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        name, _, reason = line.strip().partition(" ")
        if not reason:
            raise SystemExit(f"allowed_skips.txt: {name} has no reason")
        allowed[name] = reason
    return allowed


def complaints(log, least, allowed):
    passed = sum(int(n) for n in PASSED.findall(log))
    skipped = sorted(set(SKIPPED.findall(log)))
    said = [f"skipped without a reason in tests/allowed_skips.txt: {name}" for name in skipped if name not in allowed]
    if passed < least:
        said.append(f"only {passed} cases passed, tests/least_cases.txt asks for {least}: were some filtered out?")
    return passed, skipped, said


def main(folder, log_file):
    with open(f"{folder}/least_cases.txt", encoding="utf-8") as f:
        least = int(f.read())
    with open(f"{folder}/allowed_skips.txt", encoding="utf-8") as f:
        allowed = allowed_skips(f.read())
    with open(log_file, encoding="utf-8", errors="replace") as f:
        passed, skipped, said = complaints(f.read(), least, allowed)
    for name in skipped:
        print(f"skipped: {name}: {allowed.get(name, 'NO REASON')}")
    for line in said:
        print(f"FAILED: {line}", file=sys.stderr)
    print(f"{passed} cases passed, {len(skipped)} skipped")
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
