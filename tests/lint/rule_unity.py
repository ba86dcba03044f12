# SPDX-License-Identifier: LGPL-3.0-or-later
"""No name stands in the unnamed namespaces of two files of one library: a unity build, which ./runtests makes, compiles them as
one file. Equal functions would not compile; functions that differ in their arguments would, and mean something else."""
import os
import re

from tree import Finding

ROOTS = ("src", "sched", "daemons", "config", "db", "feeder")
SPACE = re.compile(r"^(?:inline )?namespace\s*([\w:]*)\s*\{(.*)$")
END = re.compile(r"^\}\s*(// namespace.*)?$")
TYPE = re.compile(r"^(?:template\s*<.*>\s*)?(?:struct|class|enum class|enum)\s+(\w+)\b(?!::)[^;(]*\{?$")
ALIAS = re.compile(r"^using (\w+) = (.*);")
OTHER = re.compile(r"^(?!using |namespace |friend |template|extern |typedef )[\w:<>,&*\[\] ]*?[\s&*]([A-Za-z_]\w*)\s*(?:\(|=|\[|\{)")


def names(text):
    """Name -> line of what a file defines for itself, and alias -> (type, line); clang-format puts each at the beginning of a line."""
    found, aliases, open_spaces = {}, {}, []
    for number, line in enumerate(text.split("\n"), 1):
        space = SPACE.match(line)
        if space:
            if "}" not in space.group(2):
                open_spaces.append(space.group(1))
        elif END.match(line):
            if "// namespace" in line and open_spaces:
                open_spaces.pop()
        elif "" in open_spaces and line and line[0] not in " \t#}/)":
            alias = ALIAS.match(line)
            if alias:  # the same alias twice is no conflict
                aliases[alias.group(1)] = (alias.group(2), number)
            match = TYPE.match(line) or OTHER.match(line)
            if match and match.group(1) not in ("struct", "class", "enum"):
                found.setdefault(match.group(1), number)
    return found, aliases


def library_of(path):
    parts = path.split("/")
    return parts[0] if parts[0] in ("db", "feeder") or len(parts) == 2 else "/".join(parts[:2])


def check(tree):
    findings, seen, seen_aliases = [], {}, {}
    for path in tree.sources():
        if path.split("/")[0] not in ROOTS or not path.endswith(".cpp") or os.path.basename(path).endswith("main.cpp"):
            continue
        found, aliases = names(tree.text(path))
        for name, (meaning, line) in aliases.items():
            other, first = seen_aliases.setdefault((library_of(path), name), (meaning, path))
            if other != meaning:
                findings.append(Finding(path, line, f"{name} is another type than in an unnamed namespace of {first}: give one of them another name"))
        for name, line in found.items():
            first = seen.setdefault((library_of(path), name), path)
            if first != path:
                findings.append(Finding(path, line, f"{name} stands in an unnamed namespace of {first}, too: give one of them another name"))
    return findings
