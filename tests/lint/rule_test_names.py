# SPDX-License-Identifier: LGPL-3.0-or-later
"""The name of a test states its rule in at most eight words: a list of names can be read like a page."""
import re

from tree import Finding, line_of

TEST = re.compile(r"^(?:TEST|TEST_F|TEST_P|TYPED_TEST)\(\w+,\s*(\w+)\)", re.MULTILINE)
WORD = re.compile(r"[A-Z][a-z0-9]*|[0-9]+|_")
MOST_WORDS = 8


def check(tree):
    findings = []
    for path in sorted(tree.sources()):
        if not path.startswith("tests/"):
            continue
        text = tree.text(path)
        for match in TEST.finditer(text):
            words = len(WORD.findall(match.group(1)))
            if words > MOST_WORDS:
                findings.append(Finding(path, line_of(text, match.start()),
                                        f"the test's name {match.group(1)} has {words} words; at most {MOST_WORDS}"))
    return findings
