# SPDX-License-Identifier: LGPL-3.0-or-later
"""SQL, heavy headers and names of things that do not belong here: found by their text."""
import re

from rule_layers import INCLUDE
from tree import Finding, blanked, line_of

# -- SQL lives in db/ -------------------------------------------------------------------------------------------------

# What is installed for projects' code is linked with nothing of ours: its statements are that code's.
SQL_ALLOWED = ("db/", "include/sluice/db/", "tests/", "daemons/handlers/compat/database.cpp")
SQL = re.compile(
    r'(?<![\w:])Sql\s*[({]|<<\s*Sql(Text|Blob)\b|'
    r'"\s*(select\s+[^"]*\bfrom\b|select\s+"|insert\s+(ignore\s+)?into\b|update\s+\w+\s+set\b|delete\s+from\b|replace\s+into\b'
    r'|create\s+table\b|alter\s+table\b|drop\s+table\b)', re.I)


def check_sql(tree):
    findings = []
    for path in tree.sources():
        if path.startswith(SQL_ALLOWED):
            continue
        text = blanked(tree.text(path), keep_strings=True)
        for match in SQL.finditer(text):
            findings.append(Finding(path, line_of(text, match.start()),
                                    "SQL lives in db/mysql only: give a store of db/ a verb for this"))
    return findings


# -- Heavy headers only in .cpp files ---------------------------------------------------------------------------------

HEAVY = re.compile(r"^(nlohmann/|CLI/|spdlog/|boost/|mysql|cppconn/|openssl/|pugixml|mariadb)")
# Private headers that speak Connector/C++ to each other; and what projects' code has always got from a header of that name.
HEAVY_ALLOWED = ("db/mysql/", "include/sluice/compat/db_base.h")


def check_heavy_headers(tree):
    findings = []
    for path in tree.sources():
        if not path.endswith(".h") or path.startswith(HEAVY_ALLOWED):
            continue
        text = tree.text(path)
        for match in INCLUDE.finditer(text):
            if HEAVY.match(match.group(1)):
                findings.append(Finding(path, line_of(text, match.start(1)),
                                        f"<{match.group(1)}> costs every includer seconds: include it in a .cpp"))
    return findings


# -- Nobody names machines, private papers or helpers of those who wrote this -----------------------------------------

# Written in pieces, so that this file does not name them itself.
FORBIDDEN = re.compile(
    r"(?<![\w.<>}\-/])/" + r"work(?=/|[^\w]|$)|/tmp/" + r"wt\b|(?<![\w/])fac" + r"ts/[a-z][a-z-]*|"
    r"(?<![\w/])\.\./(?:fac" + r"ts|research|seeds)/", re.M)
BINARY = (".png", ".gz", ".zip", ".jpg", ".ico", ".db")
# Requests and replies as they were recorded: nothing in them was written by us.
RECORDED = ("tests/captures/",)


def check_forbidden(tree):
    findings = []
    for path in tree.files():
        if path.endswith(BINARY) or path.startswith(RECORDED):
            continue
        text = tree.text(path)
        for match in FORBIDDEN.finditer(text):
            findings.append(Finding(path, line_of(text, match.start()),
                                    f"names {match.group(0)!r}, which exists on no other machine: say what is meant"))
    return findings
