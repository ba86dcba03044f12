# SPDX-License-Identifier: LGPL-3.0-or-later
"""The lines that programs log, as admins grep them: their set is that of log_lines.txt, and what upstream words one way is
worded so here, at the same -d level."""
import re

from tree import Finding, blanked, line_of

TABLE = "tests/lint/log_lines.txt"
COMPAT = "docs/compat.md"
TEXT = r'((?:"(?:\\.|[^"\\\n])*"\s*)+)'
CALLS = (
    (re.compile(r'\blog(?:_|_?\.)(critical|warning|normal|debug)\(\s*' + TEXT), None),
    # The transitioner's plan says what is logged at the normal level about a workunit or one of its results.
    (re.compile(r'\bnote(?:_error_bit)?\(\s*(?:r, |k\w+,\s*)?(?:fmt::format\(\s*)?' + TEXT), "normal"),
    (re.compile(r'\bdetail\(\s*(?:fmt::format\(\s*)?' + TEXT), "debug"),
    (re.compile(r'\blog_at\([^";]*,\s*' + TEXT), "varies"),
)


def shape(text):
    """'adding result [RESULT#{}]' and 'adding result [RESULT#%lu]' are one shape."""
    return re.sub(r"#+", "#", re.sub(r"\{[^}]*\}|%[-+ 0-9.]*(?:l*[duxf]|s)", "#", text)).strip()


def lines_of(tree, path):
    """(level, shape, line number) of each line that the file logs."""
    source = blanked(tree.text(path), keep_strings=True)
    for call, level in CALLS:
        for match in call.finditer(source):
            literals = "".join(re.findall(r'"((?:\\.|[^"\\\n])*)"', match.group(match.lastindex)))
            yield level or match.group(1), shape(literals), line_of(source, match.start())


def check(tree):
    findings, groups, open_groups, known, absent = [], [], set(), set(), []
    for number, row in enumerate(tree.text(TABLE).splitlines(), 1):
        if not row or row.startswith("#"):
            continue
        if row.startswith("["):
            groups.append(row.strip("[]*"))
            if row.endswith("*"):
                open_groups.add(groups[-1])
            continue
        whose, level, text = row.split(None, 2)
        if whose == "absent":
            absent.append((number, level, text))
        else:
            known.add((groups[-1], level, text, number))
    for number, _, text in absent:
        if text not in tree.text(COMPAT):
            findings.append(Finding(TABLE, number, f"upstream logs '{text}', we don't: say so in {COMPAT}"))
    found = {}
    for path in tree.sources():
        group = next((g for g in groups if path == g or path.startswith(g + "/")), None)
        if group and path.endswith(".cpp"):
            for level, text, line in lines_of(tree, path):
                found.setdefault((group, level, text), (path, line))
    listed = {entry[:3] for entry in known}
    for (group, level, text), (path, line) in sorted(found.items()):
        if group not in open_groups and (group, level, text) not in listed:
            findings.append(Finding(path, line, f"'{text}' ({level}) is not in {TABLE}: if upstream logs this, in its "
                                                "words at its level; else add it as ours"))
    for group, level, text, number in sorted(known):
        if (group, level, text) not in found:
            findings.append(Finding(TABLE, number, f"nothing in {group} logs '{text}' ({level}) any more"))
    return findings
