"""Every policy of sched/match has a row with a name of its own, a test that names it and a line in docs/policies.md."""
import os
import re

from tree import Finding, blanked

FOLDERS = ("fast", "set", "slow", "score")
ROW = re.compile(r'const\s+\w+Row\s+(k\w+)\s*(?:=\s*)?\{\s*"([^"]+)"')
DOC = "docs/policies.md"
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


def check(tree):
    findings = []
    doc = tree.text(DOC) if tree.exists(DOC) else ""
    tests = test_texts(tree)
    for folder in FOLDERS:
        where = f"sched/match/{folder}"
        if not tree.exists(where):
            continue  # that kind of policy is not there yet
        seen = {}
        for path in (p for p in tree.sources() if os.path.dirname(p) == where and p.endswith(".cpp")):
            rows = ROW.findall(tree.text(path))
            if not rows:
                findings.append(Finding(path, 1, 'defines no row: const …Row kName{"name", …}'))
            for row in rows:
                findings += check_row(path, row, doc, tests, tree.text(path))
                if row[1] in seen:
                    findings.append(Finding(path, 1, f'"{row[1]}" is also the name of {seen[row[1]]}'))
                seen[row[1]] = path
    return findings
