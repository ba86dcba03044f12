#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""tested_versions_test.py BUILD: config/tested-versions names a version of each program that the tests start, and this build's."""
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
build = sys.argv[1]
said = subprocess.run([os.path.join(ROOT, "config/tested-versions"), build], capture_output=True, text=True, check=True).stdout
rows = dict(re.findall(r"(?m)^\| (.*?) +\| (.*?) \|$", said))
with open(os.path.join(build, "version.txt"), encoding="utf-8") as file:
    wanted = {"Sluice": file.readline().strip()}
# Each says its own version. MySQL and clang are not on each machine.
for name, command in (("MariaDB", ["/usr/sbin/mariadbd", "--version"]), ("Apache", ["/usr/sbin/apache2", "-v"]), ("nginx", ["/usr/sbin/nginx", "-v"]),
                      ("BOINC client", ["boinc", "--version"])):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True)
    wanted[name] = re.search(r"\d+(\.\d+)+[\w.+~-]*", done.stdout).group(0)
wrong = [f"{name}: {rows.get(name)}, not {version}" for name, version in wanted.items() if rows.get(name) != version]
wrong += [f"{name}: {version}" for name, version in rows.items() if name not in ("Tested with", "---", "MySQL", "clang++") and not re.search(r"\d", version)]
wrong += [f"{name} is missing" for name in ("MySQL", "PHP", "BOINC schema (db_revision)", "clang++", "g++") if name not in rows]
print("\n".join(wrong) or said)
sys.exit(1 if wrong else 0)
