# SPDX-License-Identifier: LGPL-3.0-or-later
"""What docs/ARCHITECTURE.md and the READMEs of the folders name is there: files, folders, types, functions. A line about a part
that is not there yet says "(to come)"."""
import fnmatch
import re

from tree import Finding, blanked

DOC = "docs/ARCHITECTURE.md"
PAGES = (DOC, "docs/CONTRIBUTING.md", *(f"{folder}/README.md" for folder in ("config", "db", "sched", "feeder", "daemons")))
TO_COME = "(to come)"
CODE = re.compile(r"`([^`\n]+)`")
PATH = re.compile(r"^[\w.*][\w.*+/-]*$")
FILE = re.compile(r"\.(h|cpp|sql|py|md|txt|xml)$")
NAME = re.compile(r"^(?:(\w+)::)?(\w+)(?:\(.*\))?$")
DECLARED = re.compile(r"\b(?:struct|class|enum class|enum|using)\s+(\w+)")


class Known:
    """What the tree holds, in the forms that a page may name it by."""

    def __init__(self, tree):
        self.paths = set()
        for path in tree.files():
            words = path.split("/")
            self.paths.update("/".join(words[:n]) for n in range(1, len(words) + 1))
        code = "\n".join(blanked(tree.text(path), keep_strings=True) for path in tree.sources())
        build = "\n".join(tree.text(path) for path in tree.files() if path.endswith((".cmake", "CMakeLists.txt")))
        self.types = set(DECLARED.findall(code))
        self.words = set(re.findall(r"\w+", code + build))

    def has_path(self, path):
        """Whole, or the end of one; a header without its ending; * for any name."""
        path = path.rstrip("/").replace("…", "*").removesuffix("/all")  # Ninja's name of all targets of a folder
        if path.startswith(("build/", "PROJECT/", "SOURCE/")):
            return True  # what a command makes, or what the reader puts in its place
        patterns = [form for end in (path, path + ".h", path + ".cpp") for form in (end, "*/" + end)]
        return any(fnmatch.fnmatchcase(known, pattern) for pattern in patterns for known in self.paths)


def lines_of(text):
    """Number, line, and whether it stands in a block of code."""
    block = False
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("```"):
            block = not block
        else:
            yield number, line, block


def is_path(token):
    return bool(PATH.match(token)) and ("/" in token or FILE.search(token)) and not token.startswith(".")


def problem(token, known):
    if is_path(token):
        return None if known.has_path(token) else f"there is no {token}"
    name = NAME.match(token)
    if not name or not re.search(r"[a-z]", name.group(2)):
        return None  # a sentence, a value, an SQL keyword
    owner, word = name.groups()
    if owner and owner not in known.types:
        return f"there is no type {owner}"
    if re.match(r"[A-Z]\w*[a-z]", word) and "(" not in token and not owner:
        return None if word in known.types else f"there is no type {word}"
    return None if word in known.words else f"nothing in the sources is called {word}"


def tokens_of(line, block):
    if not block:
        return CODE.findall(line)
    return [word for word in re.split(r"[\s,;:()]+", line) if is_path(word)]


def check_page(tree, page, known):
    for number, line, block in lines_of(tree.text(page)):
        if TO_COME in line:
            continue
        for token in tokens_of(line, block):
            what = problem(token.strip(), known)
            if what:
                yield Finding(page, number, f"{what}; mend the page, or mark what is planned {TO_COME}")


def check(tree):
    known = Known(tree)
    return [finding for page in PAGES if tree.exists(page) for finding in check_page(tree, page, known)]
