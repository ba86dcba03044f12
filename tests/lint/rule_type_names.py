# SPDX-License-Identifier: LGPL-3.0-or-later
"""Two types of the product never share a name, whatever namespaces or files they stand in: who reads a name knows what is meant."""
import re

from tree import Finding

DEFINED = re.compile(r"^(?:template\s*<.*>\s*)?(?:struct|class|enum class|enum)\s+(\w+)\b(?!::)[^;({]*(?:\{|$)")
ROOTS = ("src", "include", "sched", "daemons", "config", "db", "feeder")


def check(tree):
    findings, seen = [], {}
    for path in sorted(tree.sources()):
        if path.split("/")[0] not in ROOTS:
            continue
        for number, line in enumerate(tree.text(path).split("\n"), 1):
            match = DEFINED.match(line)  # at the beginning of a line: a type within another one goes by both names
            if not match:
                continue
            first = seen.setdefault(match.group(1), path)
            if first != path:
                findings.append(Finding(path, number, f"there is a type {match.group(1)} in {first}, too: give one of them another name"))
    return findings
