# SPDX-License-Identifier: LGPL-3.0-or-later
"""Files of at most 600 lines, functions of at most 60; modules of at least 60 lines, if one module beside them is all that includes them.
Others stand, with their reason, in allowed_sizes.txt."""
import os
import re

from tree import Finding, blanked, line_of

MAX_FILE, MAX_FUNCTION, MIN_MODULE = 600, 60, 60
ALLOW_LIST = "tests/lint/allowed_sizes.txt"

# What stands in front of a function's brace: name(…) and what may follow the parameters.
FUNCTION_HEAD = re.compile(
    r"([\w~:]+|operator\s*[^\s(]+|operator\s*\(\s*\))\s*\([^{}]*\)\s*"
    r"(const|noexcept(\s*\([^()]*\))?|override|final|mutable|&&?|->\s*[\w:<>,\s*&]+|:\s*[^{};]*(\{[^{}]*\}[^{};]*)*|\s)*$")
NO_FUNCTION = re.compile(r"\b(if|for|while|switch|catch|do|else|return|namespace|class|struct|union|enum|extern)\b[^;{}]*$")


def functions(text):
    """(name, first line, last line) of every function body that is in no other one."""
    code = blanked(text)
    found, depth, head_start, open_function = [], 0, 0, None
    initializers = []  # depths of the braces of member{value}: they belong to the head that they stand in
    for match in re.finditer(r"[{};]", code):
        sign, at = match.group(0), match.start()
        if sign == "{":
            depth += 1
            if at > 0 and re.match(r"[\w>]", code[at - 1]):
                initializers.append(depth)
                continue
            head = code[head_start:at]
            name = FUNCTION_HEAD.search(head) if open_function is None else None
            if name and not NO_FUNCTION.search(head.split("(")[0]):
                open_function = (name.group(1), line_of(code, head_start + len(head) - len(head.lstrip())), depth)
        elif sign == "}":
            depth -= 1
            if initializers and initializers[-1] == depth + 1:
                initializers.pop()
                continue
            if open_function and open_function[2] == depth + 1:
                found.append((open_function[0], open_function[1], line_of(code, at)))
                open_function = None
        head_start = match.end()
    return found


def test_name(text, line):
    """TEST(Suite, Name) bodies are all called TEST: take their arguments as name."""
    match = re.search(r"\w*TEST\w*\(([^)]*)\)", text.split("\n")[line - 1])
    return "/".join(word.strip() for word in match.group(1).split(",")) if match else None


def too_large(tree):
    """(key, finding) of every file and function above its limit; the key is what the allow list names."""
    for path in tree.sources():
        text = tree.text(path)
        lines = text.count("\n")
        if lines > MAX_FILE:
            yield path, Finding(path, 1, f"{lines} lines; at most {MAX_FILE}")
        for name, first, last in functions(text):
            if last - first + 1 > MAX_FUNCTION:
                name = test_name(text, first) or name
                yield f"{path}:{name}", Finding(
                    path, first, f"{name} has {last - first + 1} lines; at most {MAX_FUNCTION}")


INCLUDED = re.compile(r'^#include "([^"]+)"', re.M)
# A policy is a file, and src/shmem is what docs/shared_memory.md says.
SMALL_BY_DESIGN = ("sched/match/fast/", "sched/match/set/", "sched/match/slow/", "sched/match/score/", "src/shmem/", "tests/")


def stem(path):
    return os.path.splitext(path)[0]


def too_small(tree):
    """The same of modules (X.h, X.cpp) below the limit that only one other of their folder includes: they belong into it."""
    users = {}
    for path in tree.sources():
        for included in INCLUDED.findall(tree.text(path)):
            users.setdefault(included, set()).add(stem(path))
    for path in tree.sources():
        own, at = stem(path), path.removeprefix("include/")
        if not path.endswith(".h") or path.startswith(SMALL_BY_DESIGN):
            continue
        lines = sum(tree.text(p).count("\n") for p in (path, own + ".cpp") if tree.exists(p))
        others = {user for user in users.get(at, ()) if user != own and not user.startswith("tests/")}
        if lines < MIN_MODULE and len(others) == 1 and os.path.dirname(min(others)) == os.path.dirname(own):
            yield path, Finding(path, 1, f"{lines} lines that only {min(others)} includes; move them there")


def read_allow_list(tree):
    """key -> reason; lines without a reason come back as findings."""
    allowed, findings = {}, []
    if not tree.exists(ALLOW_LIST):
        return allowed, findings
    for number, line in enumerate(tree.text(ALLOW_LIST).split("\n"), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        key, _, reason = line.partition(" ")
        if len(reason.strip()) < 15:
            findings.append(Finding(ALLOW_LIST, number, f"{key} needs a reason that explains why it may be so"))
        allowed[key] = reason.strip()
    return allowed, findings


def check(tree):
    allowed, findings = read_allow_list(tree)
    unused = set(allowed)
    for key, finding in [*too_large(tree), *too_small(tree)]:
        unused.discard(key)
        if key in allowed:
            print(f"warning: {finding} (allowed: {allowed[key]})")
        else:
            findings.append(Finding(finding.path, finding.line,
                                    f"{finding.text}: mend it, or give a reason in {ALLOW_LIST} ({key} REASON)"))
    findings += [Finding(ALLOW_LIST, 1, f"{key} keeps to the limits: take its line out") for key in sorted(unused)]
    return findings
