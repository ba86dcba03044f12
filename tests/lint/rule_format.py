# SPDX-License-Identifier: LGPL-3.0-or-later
"""C++ files stand as .clang-format says (clang-format 14, Debian 12's)."""
import re
import shutil
import subprocess

from tree import Finding

SAID = re.compile(r"^(?P<path>[^:]+):(?P<line>\d+):\d+: error: ")


def check(tree):
    program = shutil.which("clang-format-14") or shutil.which("clang-format")
    if program is None:
        return [Finding(".clang-format", 1, "clang-format is missing: run config/install-packages --tests")]
    paths = tree.sources()
    findings = {}
    for start in range(0, len(paths), 50):
        done = subprocess.run([program, "--dry-run", "--Werror", "--style=file", *paths[start:start + 50]],
                              cwd=tree.root, capture_output=True, text=True, check=False)
        for said in map(SAID.match, done.stderr.split("\n")):
            if said and said["path"] in paths:
                findings.setdefault(said["path"], int(said["line"]))
        if done.returncode != 0 and not findings:
            return [Finding(".clang-format", 1, done.stderr.strip())]
    return [Finding(path, line, f"not as .clang-format says: clang-format -i {path}") for path, line in findings.items()]
