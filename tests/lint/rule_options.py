# SPDX-License-Identifier: LGPL-3.0-or-later
"""Each program that the option table names as a reader of an option reads it; an option that nobody reads has no field."""
import re

from tree import Finding, blanked, line_of

TABLE = "config/option_table.cpp"
PARAMS = "sched/handle/rpc_services.cpp"  # config.xml -> plain values of the deciding layer
ROW = re.compile(r'\{OPTION\((\w+)\),\s*(?:"[^"]*",\s*){2}[^"]*?"([^"]*)",\s*"((?:[^"\\]|\\.)*)"')
# Where our programs read their options; a daemon in the folder of its name. Others that the table names (php, db_dump …) are upstream's.
FOLDERS = {
    "cgi": ["sched/"],
    "feeder": ["feeder/"],
    "show_shmem": ["feeder/show_shmem.cpp"],
    "file_upload_handler": ["sched/upload/"],
    "create_work": ["daemons/work/"],
    "stage_file": ["daemons/work/"],
    "update_versions": ["config/project/"],
    "make_project": ["config/project/"],
    "start": ["config/run/", "config/"],
    "sluice_batch": ["daemons/batch/", "daemons/batches/"],
    **{name: ["daemons/batches/"] for name in ("batch_accel", "batch_planner", "batch_shares", "batch_stats", "batch_watch", "gang_planner")},
    "file_deleter": ["daemons/cleaning/"],
    "antique_file_deleter": ["daemons/cleaning/"],
    "db_purge": ["daemons/cleaning/"],
    "db_dump": ["daemons/statistics/"],
    "all": [""],
}
# Loading itself: one option stands for another, or is a folder's default. Who reads is behind it.
SHARED = ("config/resolve.cpp", "config/load.cpp", "config/db_settings.cpp", "config/project_config.h")
# Options that are read through a function.
THROUGH = {"delete_delay_hours": "delete_delay", "homogeneous_redundancy": "(?:homogeneous_redundancy|project_hr)"}
NOT_READING = (TABLE, "config/options_doc.cpp", "tests/")


def member(name):
    return re.compile(rf"(?:\b\w*config\w*(?:\(\))?|\bc|\bp|\blive|\bproject|\bparams)\s*(?:\.|->)\s*{THROUGH.get(name, name)}\b")


class Reading:
    def __init__(self, tree):
        self.texts = {path: blanked(tree.text(path), keep_strings=True) for path in tree.sources()
                      if not path.startswith(NOT_READING)}

    def folders(self, program):
        own = f"daemons/{program}/"
        return FOLDERS.get(program) or [own for path in self.texts if path.startswith(own)]

    def in_files(self, name, chosen):
        return any(member(name).search(text) for path, text in self.texts.items() if chosen(path))

    def by_params(self, name):
        """Through a value of the deciding layer that something there looks at; None: it is not handed on."""
        handed = re.search(rf"\b(?:p|limits)\.(\w+) = [^;]*\bc\.{name}\b", self.texts.get(PARAMS, ""))
        if not handed:
            return None
        value = re.compile(rf"\b(?:params|limits)(?:_|\(\))?\.{handed.group(1)}\b|\bp\.{handed.group(1)}\b")
        return any(value.search(text) for path, text in self.texts.items()
                   if path.startswith("sched/") and path != PARAMS)

    def by(self, program, name):
        if any(member(name).search(text) or f'"{name}"' in text for text in (self.texts.get(path, "") for path in SHARED)):
            return True
        handed = self.by_params(name)
        if program in ("cgi", "all") and handed:
            return True
        return self.in_files(name, lambda path: path not in SHARED and path != PARAMS
                             and path.startswith(tuple(self.folders(program))))


WITNESSES = "tests/lint/option_witnesses.txt"
IN_TABLES = ["tests/unit/handle/options_at_levels_test.cpp", "tests/unit/handle/debug_flags_test.cpp"]


def witness_problem(tree, option, path, test):
    """Empty if the test is there, and its file sets the option."""
    if not tree.exists(path):
        return f"there is no {path}"
    suite, _, name = test.partition(".")
    if not re.search(rf"TEST(?:_[FP])?\(\s*{suite},\s*{name}\s*\)", tree.text(path)):
        return f"there is no {test} in {path}"
    return "" if re.search(rf"\b{option}\b", tree.text(path)) else f"nothing in {path} sets {option}"


def check_witnesses(tree, text):
    """Each option is set somewhere to see that it has an effect."""
    if not tree.exists(WITNESSES):
        return []
    findings, listed = [], set()
    for number, line in enumerate(tree.text(WITNESSES).splitlines(), 1):
        words = line.split()
        if not words or line.startswith("#"):
            continue
        problem = witness_problem(tree, *words) if len(words) == 3 else "a line is OPTION FILE SUITE.TEST"
        if problem:
            findings.append(Finding(WITNESSES, number, problem))
        listed.add(words[0])
    in_tables = set()
    for path in filter(tree.exists, IN_TABLES):
        in_tables |= set(re.findall(r'\{"(\w+)",', tree.text(path)))
    for row in ROW.finditer(text):
        name = row.group(1)
        if name in in_tables or name in listed:
            continue
        findings.append(Finding(TABLE, line_of(text, row.start()), f"no test shows that {name} has an effect: a witness in "
                                f"{IN_TABLES[0]}, or a line in {WITNESSES}"))
    return findings


def check(tree):
    if not tree.exists(TABLE):
        return []
    reading, findings, text = Reading(tree), [], tree.text(TABLE)
    for row in ROW.finditer(text):
        name, readers = row.group(1), [r.strip() for r in row.group(2).split(",")]
        line = line_of(text, row.start())
        ours = [r for r in readers if reading.folders(r)]
        for program in ours:
            if not reading.by(program, name):
                findings.append(Finding(TABLE, line, f"{program} does not read {name}: make it, or name who does "
                                        "(a row of kNoEffect, without a field, if nobody)"))
        if not ours and any(reading.by(program, name) for program in FOLDERS):
            findings.append(Finding(TABLE, line, f"{name} is read, but its row names none of our programs"))
        elif not ours:
            findings.append(Finding(TABLE, line, f"no program of ours reads {name}: a row of kNoEffect or kOthers, without a field"))
    return findings + check_witnesses(tree, text)
