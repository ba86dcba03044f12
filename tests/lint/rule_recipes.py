# SPDX-License-Identifier: LGPL-3.0-or-later
"""What a recipe of docs/ARCHITECTURE.md, section 12, asks for and a compiler does not miss: that a new source is built, a new
program of daemons/ documented and started by a test, a verb of a store in the suite of both databases, an element of the protocol in a test."""
import os
import re

from tree import Finding, blanked, line_of

FLOW, README = "docs/job_flow.md", "daemons/README.md"
WITHOUT_DATABASE = "tests/scenario/admin/no_database_test.cpp"
PROGRAM = re.compile(r"\bsluice_program\((\w+)(?: NO_MAN)? DESTINATION \w+ SOURCES (\S+)")
VERB = re.compile(r"\bvirtual\b[^;{]*?\b(\w+)\([^;{]*\)(?: const)? = 0;")
PARSED = re.compile(r'^\s*(?:constexpr [^{\n]*|\}[^{\n]*)?\{+"(\w+)", |name\(\) == "(\w+)"', re.M)
OWN_TABLES = "db/mysql/own_tables.cpp"
MADE = re.compile(r'(?:CREATE TABLE IF NOT EXISTS |\{")(sluice_\w+)[ "]')
WRITTEN = re.compile(r'\(out, "(\w+)"|"<(\w+)')


def texts(tree, prefix, endings=(".cpp", ".h")):
    return "\n".join(tree.text(path) for path in tree.files() if path.startswith(prefix) and path.endswith(endings))


def stem_of(name):
    """As a pattern. A loop of a CMakeLists.txt over what is tested or fuzzed names the middle of it only."""
    middle = re.fullmatch(r"(fuzz_)?(\w+?)(_test)?\.cpp", name)
    return rf"(?:{middle.group(1) or ''})?{middle.group(2)}(?:{middle.group(3) or ''})?"


def is_built(tree, path):
    """A CMakeLists.txt of the folder, or above it, names the file (with a loop over its stem, or a pattern for its folder)."""
    folder, name = os.path.split(path)
    at = folder
    while at:
        if tree.exists(f"{at}/CMakeLists.txt"):
            text = tree.text(f"{at}/CMakeLists.txt")
            pattern = "SOURCE_DIR}/*.cpp" if at == folder else f" {os.path.relpath(folder, at)}/*.cpp"
            if re.search(rf"(?<!\w){stem_of(name)}(?!\w)", text) or pattern in text:
                return True
        at = os.path.dirname(at)
    return any(path in tree.text(other) for other in tree.files() if other.endswith(("CMakeLists.txt", ".cmake")))


def check_built(tree):
    for path in tree.sources():
        if path.endswith(".cpp") and not is_built(tree, path):
            yield Finding(path, 1, "no CMakeLists.txt names it: it is not built")


def check_programs(tree):
    tests = texts(tree, "tests/")
    for build in (p for p in tree.files() if re.fullmatch(r"daemons/\w+/CMakeLists.txt", p)):
        for match in PROGRAM.finditer(tree.text(build)):
            name, source = match.group(1), tree.text(f"{os.path.dirname(build)}/{match.group(2)}")
            asked = [(README, rf"\b{name}\b"), (WITHOUT_DATABASE, rf'"{name}"') if re.search(r"config/db_settings\.h|(validator|assimilator)_main\(", source) else None,
                     (FLOW, rf"(?m)^\| {name} \|") if re.search(r"(daemon|validator|assimilator)_main\(", source) else None]
            for page, pattern in filter(None, asked):
                if not re.search(pattern, tree.text(page)):
                    yield Finding(build, line_of(tree.text(build), match.start()), f"{name} is not in {page}")
            if not re.search(rf'(?:/|\{{"){name}"', tests.replace(tree.text(WITHOUT_DATABASE), "")):
                yield Finding(build, line_of(tree.text(build), match.start()), f"no test starts {name}")


def check_verbs(tree):
    """Of the stores that are there in memory, too."""
    memory, tests = texts(tree, "db/memory/"), blanked(texts(tree, "tests/db/"))
    for path in (p for p in tree.sources() if re.fullmatch(r"include/sluice/db/\w+_store\.h", p)):
        text = blanked(tree.text(path))
        for store in re.finditer(r"^class (\w+) \{(.*?)^\};", text, re.M | re.S):
            if not re.search(rf"public {store.group(1)}\b", memory):
                continue
            for verb in VERB.finditer(store.group(2)):
                if not re.search(rf"(?:\.|->){verb.group(1)}\(", tests):
                    yield Finding(path, line_of(text, store.start(2) + verb.start(1)), f"no test below tests/db calls {verb.group(1)}")


def check_elements(tree):
    tests = texts(tree, "tests/unit/rpc/") + texts(tree, "tests/captures/", (".xml",))
    for path in (p for p in tree.sources() if p.startswith("sched/rpc/") and p.endswith(".cpp")):
        text = blanked(tree.text(path), keep_strings=True)
        pattern = PARSED if "parse" in os.path.basename(path) else WRITTEN
        for match in pattern.finditer(text):
            name = next(filter(None, match.groups()))
            if not re.search(rf"<{name}\b|\"{name}\"", tests):
                yield Finding(path, line_of(text, match.start()), f"no test of tests/unit/rpc knows <{name}>")


def check_own_tables(tree):
    """--check judges the rights of the tables in the list: those that programs make."""
    if not tree.exists(OWN_TABLES):
        return
    text = tree.text(OWN_TABLES)
    listed, made = set(re.findall(r'"(sluice_\w+)"', text)), set(MADE.findall(texts(tree, "db/mysql/", (".cpp",)).replace(text, "")))
    for name in sorted(listed ^ made):
        yield Finding(OWN_TABLES, 1, f"{name} is made by no source of db/mysql" if name in listed else f"own_tables() lacks {name}")


def check(tree):
    return [finding for part in (check_built, check_programs, check_verbs, check_elements, check_own_tables) for finding in part(tree)]
