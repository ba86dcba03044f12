# SPDX-License-Identifier: LGPL-3.0-or-later
"""Every policy of sched/match has a row with a name of its own, a test that names it and a line in docs/policies.md; and
no code but what docs/adding_a_policy.md lists knows of one policy or of the reason for which it refuses."""
import os
import re

from tree import Finding, blanked

FOLDERS = ("fast", "set", "slow", "score")
ROW = re.compile(r'const\s+\w+Row\s+(k\w+)\s*(?:=\s*)?\{\s*\.name\s*=\s*"([^"]+)"')
DOC = "docs/policies.md"
GUIDE = "docs/adding_a_policy.md"
MENTION = re.compile(r"\b(k\w+Row)\b|\bReason::(k\w+)")
# Upstream's rules that are not a row's: what counts as work for the volunteer, what a pass of its own leaves out, what
# is said of a deadline. A new policy needs none of these, and a new line here is a decision.
ALSO_KNOWN = {
    "kNonCpuIntensiveRow": ["sched/match/matcher.cpp"], "kNonCpuIntensive": ["sched/match/scan.cpp"],
    "kBetaRow": ["sched/match/scan.cpp"], "kLttReservedRow": ["sched/match/scan.cpp"],
    "kReliableOnlyRow": ["sched/match/scan.cpp"], "kDiskSumRow": ["sched/match/matcher.cpp"],
    "kAppNotSelected": ["sched/match/matcher.cpp", "sched/handle/no_work_messages.cpp"],
    "kHrClassUnknown": ["sched/handle/hand_out_work.cpp"],
    # versions are refused for these too, before any job is looked at
    "kBetaNotAllowed": ["sched/match/app_versions.cpp"], "kAppVersionMismatch": ["sched/match/app_versions.cpp"],
    "kMemory": ["sched/match/app_versions.cpp", "sched/match/plan_class_eval.cpp"],
}
# Rows whose checks are tested through the parts that they call: the simulated queue, the counts of jobs held.
TESTED_THROUGH_PARTS = {"deadline", "in_progress"}


def test_texts(tree):
    return "\n".join(blanked(tree.text(path), keep_strings=True) for path in tree.sources()
                     if path.startswith("tests/") and path.endswith(".cpp"))


def check_row(path, row, doc, tests, text=""):
    constant, name = row
    # Tests of checks go by the reason that a refusal carries, tests of terms by the row's name.
    reasons = re.findall(r"Reason::(k\w+)", text)
    if name not in TESTED_THROUGH_PARTS and not re.search(rf'"{re.escape(name)}"|\b{constant}\b', tests) and not any(f"Reason::{r}" in tests for r in reasons):
        yield Finding(path, 1, f'no test names "{name}", {constant} or its reason')
    if not any(f"`{name}`" in line or f"| {name} |" in line for line in doc.split("\n")):
        yield Finding(path, 1, f"`{name}` has no line in {DOC}")


def touched(guide):
    """The files that the guide lists as touched: the paths of its table."""
    return set(re.findall(r"^\| `([\w/.]+)`", guide, re.M))


def check_mentions(tree, known):
    """`known`: what policies call themselves and refuse for, by the file that does."""
    guide = tree.text(GUIDE) if tree.exists(GUIDE) else ""
    for path in tree.sources():
        if path.startswith("tests/") or path in touched(guide):
            continue
        for match in MENTION.finditer(blanked(tree.text(path))):
            name = match.group(1) or match.group(2)
            if name in known and path not in known[name] and path not in ALSO_KNOWN.get(name, []):
                yield Finding(path, tree.text(path).count("\n", 0, match.start()) + 1,
                              f"knows {name}, which is {known[name][0]}'s own: {GUIDE} lists all that a policy touches")


def check(tree):
    findings = []
    known = {}
    doc = tree.text(DOC) if tree.exists(DOC) else ""
    tests = test_texts(tree)
    for folder in FOLDERS:
        where = f"sched/match/{folder}"
        if not tree.exists(where):
            continue  # that kind of policy is not there yet
        seen = {}
        for path in (p for p in tree.sources() if os.path.dirname(p) == where and p.endswith(".cpp")):
            rows = ROW.findall(tree.text(path))
            for match in re.finditer(r"\brefuse\(Reason::(k\w+)|\b(k\w+Row)\b", blanked(tree.text(path))):
                known.setdefault(match.group(1) or match.group(2), []).append(path)
            if not rows:
                findings.append(Finding(path, 1, 'defines no row: const …Row kName{"name", …}'))
            for row in rows:
                findings += check_row(path, row, doc, tests, tree.text(path))
                if row[1] in seen:
                    findings.append(Finding(path, 1, f'"{row[1]}" is also the name of {seen[row[1]]}'))
                seen[row[1]] = path
    return findings + list(check_mentions(tree, known))
