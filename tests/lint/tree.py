# SPDX-License-Identifier: LGPL-3.0-or-later
"""The source tree as the rules see it."""
import os
import re
from dataclasses import dataclass

SOURCE_FOLDERS = ("include", "src", "config", "db", "sched", "feeder", "daemons", "tests")
TOP_LEVEL_SKIPPED = re.compile(r"^(build.*|\.git|\.cache|install|_.*)$")


@dataclass(frozen=True)
class Finding:
    path: str
    line: int
    text: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.text}"


class Tree:
    def __init__(self, root):
        self.root = root
        self._texts = {}

    def files(self):
        """Every file of the project, relative to the root; build folders and .git are none of it."""
        out = []
        for folder, folders, names in os.walk(self.root):
            if os.path.samefile(folder, self.root):
                folders[:] = [f for f in folders if not TOP_LEVEL_SKIPPED.match(f)]
            folders[:] = sorted(f for f in folders if f != "__pycache__")
            out += [os.path.relpath(os.path.join(folder, name), self.root) for name in sorted(names) if name != ".git"]
        return out

    def sources(self):
        """C++ files."""
        return [path for path in self.files()
                if path.endswith((".h", ".cpp")) and path.split(os.sep)[0] in SOURCE_FOLDERS]

    def exists(self, path):
        return os.path.exists(os.path.join(self.root, path))

    def text(self, path):
        if path not in self._texts:
            with open(os.path.join(self.root, path), encoding="utf-8", errors="replace") as file:
                self._texts[path] = file.read()
        return self._texts[path]


TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<mark>[^\s()\\]{0,16})\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"|' r"(?<![\w'])'(?:\\.|[^'\\\n])+'",
    re.S)


def blanked(text, keep_strings=False):
    """The text with comments (and strings) turned into blanks; lines stay where they are."""
    def blank(match):
        token = match.group(0)
        if keep_strings and not token.startswith("/"):
            return token
        return re.sub(r"[^\n]", " ", token)
    return TOKEN.sub(blank, text)


def line_of(text, position):
    return text.count("\n", 0, position) + 1
