# SPDX-License-Identifier: LGPL-3.0-or-later
"""Each program is in one Debian package, with its manual page, and debian/ names no program that is gone. What else is installed,
debian/rules compares when packages are built (dh_missing). The packages have CMakeLists.txt's version, or a coming one: X~N."""
import re

from tree import Finding, line_of

PREFIX, MAN = "usr/lib/sluice/", "usr/share/man/man8/"
MADE = re.compile(r"\bsluice_(?:installed_)?program\((\$\{\w+\}|\w+)( NO_MAN)? DESTINATION ([\w-]+)([^()]*)\)")
LOOP = re.compile(r"\bforeach\((\w+) ([^)$]*)\)")
LINKS_OF_START = ("stop", "status")


def names_of(text, match):
    """A name; of a variable: the words of the loop around it, up to a colon."""
    if not match.group(1).startswith("$"):
        yield match.group(1)
        return
    loop = [found for found in LOOP.finditer(text) if found.start() < match.start()][-1]
    for word in loop.group(2).split():
        yield word.split(":")[0]


def programs(tree):
    """Path below the prefix -> (file and line that makes it, has a page)."""
    found = {}
    for path in tree.files():
        if not path.endswith("CMakeLists.txt") or path.startswith("tests/"):
            continue
        text = re.sub(r"^\s*#.*$", lambda comment: " " * len(comment.group(0)), tree.text(path), flags=re.M)
        for match in MADE.finditer(text):
            names = list(names_of(text, match))
            others = re.search(r"\bNAMES ([\w\s]+?)(?:\b[A-Z]{3,}|$)", match.group(4))
            names += others.group(1).split() if others else []
            names += LINKS_OF_START if "start" in names else ()
            for name in names:
                found[f"{match.group(3)}/{name}"] = (path, line_of(text, match.start()), not match.group(2))
    return found


def packaged(tree):
    """A line of a debian/*.install -> every place of it."""
    found = {}
    for path in tree.files():
        if re.fullmatch(r"debian/[\w-]+\.install", path):
            for number, line in enumerate(tree.text(path).split("\n"), 1):
                if line.strip():
                    found.setdefault(line.split()[0], []).append((path, number))
    return found


def version_findings(tree):
    of_tree = re.search(r"^project\(\w+ VERSION ([\d.]+)", tree.text("CMakeLists.txt"), re.M) if tree.exists("CMakeLists.txt") else None
    if not of_tree or not tree.exists("debian/changelog"):
        return
    of_package = re.match(r"\S+ \(([\d.]+)(~\S+)?\)", tree.text("debian/changelog"))
    numbers = [[int(n) for n in m.group(1).split(".")] if m else [] for m in (of_package, of_tree)]
    coming = of_package and of_package.group(2)
    if numbers[0] <= numbers[1] if coming else numbers[0] != numbers[1]:
        yield Finding("debian/changelog", 1, f"its version does not fit CMakeLists.txt's {of_tree.group(1)}: make it the same, or a later one with ~1")


def check(tree):
    if not tree.exists("debian/control"):
        return []
    made, lists, findings = programs(tree), packaged(tree), list(version_findings(tree))
    for program, (path, line, has_page) in sorted(made.items()):
        name = program.split("/")[1]
        for entry in [PREFIX + program] + ([f"{MAN}{name}.8sluice"] if has_page else []):
            places = lists.get(entry, [])
            if len(places) != 1:
                findings.append(Finding(path, line, f"{entry} is in {len(places)} packages: name it in one debian/*.install"))
    wanted = {PREFIX + program for program in made} | {f"{MAN}{program.split('/')[1]}.8sluice" for program in made}
    for entry, places in sorted(lists.items()):
        is_program = re.fullmatch(rf"{PREFIX}(?:cgi-)?bin/\w+|{MAN}\w+\.8sluice", entry)
        if is_program and entry not in wanted:
            findings.append(Finding(*places[0], f"{entry}: no CMakeLists.txt makes it"))
    return findings
