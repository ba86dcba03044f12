# SPDX-License-Identifier: LGPL-3.0-or-later
"""Every source file says its licence in its first lines; .reuse/dep5 says it for all others (`reuse lint` looks at both)."""
from tree import Finding

LINE = "SPDX-License-Identifier: LGPL-3.0-or-later"
ENDINGS = (".cpp", ".h", ".py", ".sh", ".cmake", "CMakeLists.txt")


def check(tree):
    return [Finding(path, 1, f"the line '{LINE}' is missing at its head")
            for path in sorted(tree.files()) if path.endswith(ENDINGS) and LINE not in "\n".join(tree.text(path).split("\n")[:3])]
