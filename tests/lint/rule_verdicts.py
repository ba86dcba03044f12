# SPDX-License-Identifier: LGPL-3.0-or-later
"""The two tables that tell an admin what became of upstream's programs: docs/compat.md for those of its sched folder,
docs/job_flow.md for the daemons and tasks of its make_project. Each has its row, and what a row calls built is a program of ours."""
import re

import rule_packages
from tree import Finding

SCHED_PAGE, SCHED_HEADING = "docs/compat.md", "## Programs of upstream's `sched` folder"
ENTRIES_PAGE, ENTRIES_HEADING = "docs/job_flow.md", "**A new project.**"
SCHED = set("""adjust_user_priority antique_file_deleter batch_collect_assimilator census cgi credit_test db_dump db_purge delete_file feeder
    feeder_user file_deleter file_upload_handler get_file make_work message_handler put_file sample_bitwise_validator
    sample_dummy_assimilator sample_substr_validator sample_trivial_validator sample_work_generator sched_driver script_assimilator
    script_validator show_shmem single_job_assimilator size_regulator transitioner trickle_credit trickle_deadline trickle_echo
    update_stats wu_check fcgi fcgi_file_upload_handler""".split())
ENTRIES = set("""feeder transitioner file_deleter antique_file_deleter db_dump update_uotd update_forum_activities update_stats
    update_profile_pages team_import notify badge_assign delete_expired_tokens delete_expired_users_and_hosts""".split())


def rows_below(text, heading):
    """(Line, cells) of the first table below the line that begins with the heading; without its two head lines."""
    lines = text.split("\n")
    start = next((n for n, line in enumerate(lines) if line.startswith(heading)), len(lines))
    begin = next((n for n in range(start, len(lines)) if lines[n].startswith("|")), len(lines))
    for number in range(begin, len(lines)):
        if not lines[number].startswith("|"):
            return
        if number >= begin + 2:
            yield number + 1, [cell.strip() for cell in lines[number].strip("|").split("|")]


def named(cell):
    return re.findall(r"\b[a-z]\w+\b", re.sub(r"\[.*?\)|: .*|\.php\b", "", cell))


def missing(page, rows, wanted, of):
    told = {name for line, cells in rows for name in named(cells[of(cells)])}
    for name in sorted(wanted - told):
        yield Finding(page, rows[0][0] if rows else 1, f"{name} of upstream has no row that says what became of it")


def check(tree):
    if not tree.exists(SCHED_PAGE) or not tree.exists(ENTRIES_PAGE):
        return []
    ours = {path.split("/")[1] for path in rule_packages.programs(tree)}
    sched = list(rows_below(tree.text(SCHED_PAGE), SCHED_HEADING))
    entries = list(rows_below(tree.text(ENTRIES_PAGE), ENTRIES_HEADING))
    findings = list(missing(SCHED_PAGE, sched, SCHED, lambda cells: 0))
    findings += missing(ENTRIES_PAGE, entries, ENTRIES, lambda cells: 1 if cells[0] == "none" else 0)
    built = [(SCHED_PAGE, line, named(cells[0])) for line, cells in sched if cells[1].startswith("the same name")]
    built += [(SCHED_PAGE, line, re.findall(r"`(?:bin/)?(\w+)", cells[1])) for line, cells in sched]
    built += [(ENTRIES_PAGE, line, named(re.sub(r"\(disabled\)|, disabled", "", cells[0]))) for line, cells in entries if cells[0] != "none"]
    for page, line, names in built:
        findings += [Finding(page, line, f"{name}: no CMakeLists.txt makes it") for name in names if name not in ours]
    return findings
