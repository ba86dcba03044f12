# SPDX-License-Identifier: LGPL-3.0-or-later
"""Validators and assimilators of a BOINC project in Python: docs/validators.md of Sluice shows how.

script_validator --json_script and script_assimilator --json_script start a script that calls validator() or assimilator().
It stays, reads a JSON line for each workunit, and answers it."""
import hashlib
import json
import os
import sys
import traceback


class Bad(Exception):
    """The result is wrong. It is a validate error, and gets no credit."""


class Retry(Exception):
    """It can't be told just now. The workunit comes again later."""


class Result:
    """One result: id, name, host, user, elapsed_time, cpu_time, exit_status, files (path by logical name).
    With --post_assigned_credit a check sets `credit`."""

    def __init__(self, fields):
        for name in ("id", "name", "host", "user", "elapsed_time", "cpu_time", "exit_status"):
            setattr(self, name, fields[name])
        self.files = {f["name"]: f["path"] for f in fields["files"]}
        self._uncompared = {f["name"] for f in fields["files"] if f.get("no_validate")}
        self.credit = None

    def path(self, name=None):
        """The file of that logical name; of a result with one file, that one. Bad if the result has none."""
        if name is None and len(self.files) == 1:
            return next(iter(self.files.values()))
        if name not in self.files:
            raise Bad(f"it has no output file {name or 'of its own'}")
        return self.files[name]

    def read(self, name=None):
        """The content of that file, as text. Bad if it is not there, or is no text."""
        try:
            with open(self.path(name), encoding="utf-8") as file:
                return file.read()
        except FileNotFoundError as error:
            raise Bad(f"{error.filename} is not there") from error
        except UnicodeDecodeError as error:
            raise Bad(f"{self.path(name)} is no text") from error


class Job:
    """A finished workunit: id, name, app, batch, error_mask, result. result is None if the job failed.
    folder is that of its batch, PROJECT/results/BATCH. It is there."""

    def __init__(self, question):
        for name in ("id", "name", "app", "batch", "error_mask"):
            setattr(self, name, question["workunit"][name])
        canonical = question["canonical"]
        self.result = None if canonical is None else Result(canonical)
        self.folder = question["folder"]
        os.makedirs(self.folder, mode=0o771, exist_ok=True)


def content(result):
    """What validator() compares if it is given nothing: the files themselves, but those of <no_validate/>."""
    digests = []
    for name, path in sorted(result.files.items()):
        if name in result._uncompared:
            continue
        digest = None
        if os.path.exists(path):
            digest = hashlib.sha256()
            with open(path, "rb") as file:
                for block in iter(lambda: file.read(1 << 20), b""):
                    digest.update(block)
        digests.append((name, digest and digest.hexdigest()))
    return digests


def validator(check=content, compare=None):
    """Runs until there is no more work. check(result) returns what is compared, or raises Bad or Retry.
    compare(a, b) says whether two of those agree; without it they must be equal."""
    _serve(lambda question: _judge(question, check, compare))


def assimilator(store):
    """Runs until there is no more work. store(job) keeps what is worth keeping. A job can come twice: after a crash,
    and after an exception."""
    _serve(lambda question: store(Job(question)) and None)


def _serve(answer_of):
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # print() goes to the log
    for line in sys.stdin.buffer:
        question = json.loads(line)
        answer = {"workunit": question["workunit"]["id"]}
        try:
            answer.update(answer_of(question) or {})
        except Exception as error:  # the next workunit is asked about all the same
            if not isinstance(error, Retry):
                traceback.print_exc()
            answer["failed"] = f"{type(error).__name__}: {error}"
        sys.stdout.flush()
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def _judge(question, check, compare):
    values, said = {}, {}
    for fields in question["results"]:
        result = Result(fields)
        one = said[result.id] = {"id": result.id, "verdict": "good"}
        try:
            values[result.id] = check(result)
        except (Bad, Retry) as error:
            one["verdict"] = "bad" if isinstance(error, Bad) else "retry"
            if str(error):
                one["reason"] = str(error)
        if result.credit is not None:
            one["credit"] = result.credit
    if compare is None:
        for each, value in values.items():
            said[each]["key"] = hashlib.sha256(repr(value).encode()).hexdigest()
    else:
        _compare(question, values, said, compare)
    return {"results": list(said.values())}


def _compare(question, values, said, compare):
    for one in said.values():
        one["same_as"] = []
    canonical = question["canonical"]
    if canonical is not None:
        if canonical in values:
            for each in values:
                if each != canonical and compare(values[each], values[canonical]):
                    said[each]["same_as"].append(canonical)
        return
    quorum = question["workunit"]["quorum"]
    if len(values) < quorum:
        return
    for each in values:  # until one agrees with enough of the others
        same = [other for other in values if other != each and compare(values[each], values[other])]
        said[each]["same_as"] = same
        if len(same) + 1 >= quorum // 2 + 1:
            return
