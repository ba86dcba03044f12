# SPDX-License-Identifier: LGPL-3.0-or-later
"""An #include may only point down (docs/ARCHITECTURE.md, section 2)."""
import os
import re

from tree import Finding, blanked, line_of

# What each part may see besides itself. Part of the architecture: a new arrow is a decision, not a detail.
ALLOWED = {
    # ground
    "base": [],
    # words
    "model": ["base"],
    "xml": ["base"],
    "json": ["base"],
    "client_policy": [],
    "share": ["base", "model"],
    "svg": ["base"],
    # edges
    "shmem": ["base", "model"],
    "db": ["base", "model", "share"],
    "config": ["base", "model", "xml", "db"],
    "rpc": ["base", "model", "xml", "match"],  # match: only its public types, request and reply are made of them
    "web": ["base"],
    # deciding
    "match": ["base", "model", "xml", "share"],  # xml: plan_class_spec.xml
    "daemon": ["base", "model"],
    "handlers": ["model"],  # installed, for projects' own code
    "compat": [],  # installed in one folder, by upstream's names
}
EDGES_AND_BELOW = ["base", "model", "xml", "json", "share", "svg", "shmem", "db", "config", "rpc"]
FLOW = EDGES_AND_BELOW + ["match", "daemon", "handlers", "compat"]
ALLOWED.update({
    "handle": FLOW,
    "feeder": FLOW,
    "upload": FLOW + ["web"],
    "daemons": FLOW,
    # programs
    "cgi": FLOW + ["handle", "web"],
    "relay": ["base", "cgi"],  # what passes between the two, and one source; it links none of the libraries
    "tee": ["base", "cgi"],  # what clients are told where there is no scheduler; its program links none of the libraries
    "explain": FLOW + ["handle"],
    "tune": FLOW + ["handle", "explain"],
    "check": FLOW + ["handle", "feeder", "daemons", "cgi"],
    "adopt": FLOW + ["check", "tee", "health", "cgi"],  # health: what the URL of the scheduler answers; cgi: a name and a delay
    "health": FLOW + ["cgi"],
    "shadow": FLOW + ["handle", "feeder", "explain", "tee", "adopt"],
    "units": FLOW,
    "canary": FLOW + ["adopt", "shadow"],
    "sluice": FLOW + ["check", "health", "adopt", "shadow", "canary", "units"],
    "sim": FLOW + ["handle", "feeder", "daemons", "client_policy"],
    "tests": FLOW + ["client_policy", "adopt", "canary", "units", "health", "shadow", "sim", "handle", "feeder", "upload", "daemons", "cgi", "tee", "explain", "tune", "web", "check", "tests"],
})
# A main.cpp puts a program together: it may see every flow. Those of config/, on which everything stands, do not.
MAIN = FLOW + ["handle", "feeder", "upload", "daemons", "cgi", "explain", "tune", "web", "check", "health", "shadow", "adopt", "canary", "units", "relay"]

# Decisions are pure: time comes in as a value, nothing is logged, nothing outside is touched.
IMPURE = re.compile(r"^(sluice/base/(clock|env|log|process|signing)\.h|spdlog/|mysql|cppconn/|boost/|unistd\.h|ctime$|chrono$)")

# Stages say their lines to the log that they are given (sched/handle/rpc_log.h): only those who run them log.
STAGES, LOGS = "sched/handle/", re.compile(r"\blog_(?:critical|warning|normal|debug|at|line)\(")

# Projects include these by name alone, as upstream's.
UPSTREAMS_NAMES = "include/sluice/compat/"

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*["<]([^">]+)[">]', re.M)


def part_of(path):
    """The part that a file, given relative to the root, belongs to; None outside of all."""
    words = path.split("/")
    if words[:2] == ["include", "sluice"] and len(words) > 3:
        return words[2]
    if words[0] in ("src", "sched") and len(words) > 2:
        return words[1]
    if words[0] in ("config", "db", "feeder", "daemons", "tests"):
        return words[0]
    return None


def target_of(tree, path, included):
    """Where an include leads, relative to the root; None for a system header."""
    if included.startswith("sluice/"):
        return "include/" + included
    beside = os.path.normpath(os.path.join(os.path.dirname(path), included))
    for candidate in (beside, included):
        if tree.exists(candidate):
            return candidate
    return None


def arrow_error(path, part, target_part):
    allowed = ALLOWED[part]
    if os.path.basename(path) == "main.cpp":
        allowed = allowed + ["daemon", "match"] if part == "config" else MAIN
    if target_part == part or target_part in allowed:
        return None
    return f"{part} may not see {target_part}; it may see: {', '.join(allowed) or 'nothing'}"


def check_include(tree, path, included):
    if "/" not in included and not path.startswith(UPSTREAMS_NAMES) and tree.exists(os.path.join(os.path.dirname(path), included)):
        return f'written by its path from the root: "{os.path.dirname(path)}/{included}"'
    part = part_of(path)
    if part == "match" and IMPURE.match(included):
        return f"sched/match decides purely: <{included}> does not belong here"
    target = target_of(tree, path, included)
    if target is None:
        return None
    target_part = part_of(target)
    if target_part not in ALLOWED:
        return f"{included} is in no part that tests/lint/rule_layers.py knows"
    error = arrow_error(path, part, target_part)
    if error is None and part == "rpc" and target.startswith("sched/match/"):
        return "rpc sees match's public headers only (sluice/match/…)"
    return error


def check(tree):
    findings = []
    for path in tree.sources():
        if path.startswith("config/samples/"):
            continue  # programs for volunteers' hosts, not parts of the server
        if part_of(path) not in ALLOWED:
            findings.append(Finding(path, 1, "is in no part that tests/lint/rule_layers.py knows"))
            continue
        text = tree.text(path)
        for match in INCLUDE.finditer(text):
            error = check_include(tree, path, match.group(1))
            if error:
                findings.append(Finding(path, text.count("\n", 0, match.start(1)) + 1, error))
        if path.startswith(STAGES) and (match := LOGS.search(blanked(text))):
            findings.append(Finding(path, line_of(text, match.start()), "a stage says its lines to rpc.log"))
    return findings
