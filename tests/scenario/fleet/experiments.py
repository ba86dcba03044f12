# SPDX-License-Identifier: LGPL-3.0-or-later
"""Experiments on a simulated fleet: a scenario, variants of it, and what must come out (docs/simulator.md).

A file NAME.experiment.json has
  about     one line
  scenario  docs/simulator.md
  seeds     of the full form; the short one takes the first
  short     fields that take the place of the scenario's (RFC 7396) and make it a matter of seconds
  variants  {name: fields that take the place of the scenario's}
  features  {name: the same; beside them app, fields of the first app, feeder, more options, and add, lists that are appended}: every pair of features is one more variant, "A and B"
  claims    [{say, figure, variant, at_most and/or at_least, times, form}]: about the median over the seeds of a figure
            (place in result.json, names with / between); times: the bounds are multiples of this variant's figure;
            form: short or full, the only form that the claim is about; with: in the place of variant, features: the
            claim is about each pair that has these; but: not about these pairs
  table     [{head, figure, digits, percent}]: columns of docs/fleet_results.md
NAME.results.json keeps the figures of the full form: {variant: [result.json by seed, without its series]}.

  experiments.py short --sim PROGRAM [NAME ...]  runs the short forms and checks their claims: every run of the tests
  experiments.py full --sim PROGRAM [NAME ...]   runs the full forms, writes results and page, checks their claims
  experiments.py kept                            checks the claims against the kept results, and the page: every run
Exit status 1: a claim does not hold, or the page is not that of the results.
"""
import argparse
import concurrent.futures
import functools
import itertools
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
PAGE = HERE.parents[2] / "docs" / "fleet_results.md"
END = ".experiment.json"
SERIES = ("makespans_hours", "throughput_by_day", "host_classes", "job_classes", "host_class_by_job_class",
          "shares_over_time", "deadline_misses_by_day", "wasted_by_day", "empty_by_day", "bounds")


def merge(old, new):
    """RFC 7396."""
    if not isinstance(new, dict):
        return new
    merged = dict(old) if isinstance(old, dict) else {}
    for name, value in new.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = merge(merged.get(name), value)
    return merged


def names():
    return sorted(file.name[: -len(END)] for file in HERE.glob("*" + END))


def experiment_of(name):
    return json.loads((HERE / (name + END)).read_text())


def results_file(name):
    return HERE / (name + ".results.json")


def with_feature(scenario, feature):
    fields = {name: value for name, value in feature.items() if name not in ("app", "add", "feeder")}
    changed = merge(scenario, fields)
    if "feeder" in feature:
        changed["feeder"] = (scenario.get("feeder", "") + " " + feature["feeder"]).strip()
    changed["apps"] = [merge(changed["apps"][0], feature.get("app", {}))] + changed["apps"][1:]
    for name, items in feature.get("add", {}).items():
        changed[name] = changed[name] + items
    return changed


def pairs_of(experiment):
    """{variant: its two features}"""
    return {a + " and " + b: (a, b) for a, b in itertools.combinations(experiment.get("features", {}), 2)}


def scenarios_of(experiment, scenario):
    """{variant: scenario}"""
    made = {name: merge(scenario, fields) for name, fields in experiment.get("variants", {}).items()}
    for name, features in pairs_of(experiment).items():
        made[name] = functools.reduce(lambda s, f: with_feature(s, experiment["features"][f]), features, scenario)
    return made


def claims_of(experiment):
    """Each about one variant."""
    for claim in experiment["claims"]:
        if "variant" in claim:
            yield claim
            continue
        for name, features in pairs_of(experiment).items():
            if set(claim["with"]) <= set(features) and name not in claim.get("but", ()):
                yield {**claim, "variant": name}


def figures_of(result):
    """Figures, not the series that a report draws."""
    details = result["details"]
    for series in SERIES:
        details.pop(series)
    used = result["wasted_core_hours"] + details["useful_core_hours"]
    details["wasted_part"] = result["wasted_core_hours"] / used if used else 0
    details["empty_part"] = result["empty_replies"] / details["work_requests"] if details["work_requests"] else 0
    return result


def run(sim, experiment, form):
    """Two runs at a time: {variant: [figures by seed]}."""
    scenario, seeds = experiment["scenario"], experiment["seeds"]
    if form == "short":
        scenario, seeds = merge(scenario, experiment["short"]), seeds[:1]
    scenarios = scenarios_of(experiment, scenario)
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as runs:
        def figures(task):
            variant, seed = task
            place = pathlib.Path(folder) / "{} {}".format(variant, seed)
            place.mkdir()
            (place / "scenario.json").write_text(json.dumps({**scenarios[variant], "name": variant}))
            command = [sim, "run", str(place / "scenario.json"), "--seed", str(seed), "--out", str(place)]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            return figures_of(json.loads((place / "result.json").read_text()))

        results = {}
        tasks = [(variant, seed) for variant in scenarios for seed in seeds]
        for (variant, _), made in zip(tasks, runs.map(figures, tasks)):
            results.setdefault(variant, []).append(made)
        return results


def figure_in(result, figure):
    """None: the result doesn't have it, as the ETA where no batch_planner runs."""
    for step in figure.strip("/").split("/"):
        if isinstance(result, list):
            result = result[int(step)]
        elif step in result:
            result = result[step]
        else:
            return None
    return result


def median(results, variant, figure):
    """None: not every result has the figure."""
    values = [figure_in(result, figure) for result in results[variant]]
    return None if None in values else statistics.median(values)


def broken_claims(experiment, results, form):
    broken = []
    for claim in claims_of(experiment):
        if claim.get("form", form) != form:
            continue
        value = median(results, claim["variant"], claim["figure"])
        unit = median(results, claim["times"], claim["figure"]) if "times" in claim else 1
        if value is None or unit is None:
            broken.append("{}: there is no {} of {}".format(claim["say"], claim["figure"], claim["variant"]))
            continue
        told = "{}: {} of {} is {:.4g},".format(claim["say"], claim["figure"], claim["variant"], value)
        if "at_most" in claim and not value <= claim["at_most"] * unit:
            broken.append("{} more than {:.4g}".format(told, claim["at_most"] * unit))
        if "at_least" in claim and not value >= claim["at_least"] * unit:
            broken.append("{} less than {:.4g}".format(told, claim["at_least"] * unit))
    return broken


def shown(value, column):
    return "-" if value is None else "{:.{}f}".format(value * (100 if column.get("percent") else 1), column.get("digits", 0))


def rows_of(columns, rows):
    lines = ["| | " + " | ".join(c["head"] for c in columns) + " |", "|---" * (len(columns) + 1) + "|"]
    return "\n".join(lines + ["| " + " | ".join(cells) + " |" for cells in rows]) + "\n"


def table(experiment, results):
    columns = experiment["table"]
    return rows_of(columns, [[variant] + [shown(median(results, variant, c["figure"]), c) for c in columns]
                             for variant in [*experiment.get("variants", {}), *pairs_of(experiment)]])


def short_table(experiment, results):
    """Of pairs of features: for each feature the least and the greatest figure of its pairs."""
    if "features" not in experiment:
        return table(experiment, results)
    columns, rows = experiment["table"], []
    for feature in experiment["features"]:
        pairs = [name for name, both in pairs_of(experiment).items() if feature in both]
        figures = [[median(results, name, c["figure"]) for name in pairs] for c in columns]
        ends = [dict.fromkeys((shown(min(f), c), shown(max(f), c))) for f, c in zip(figures, columns)]
        rows.append([feature] + ["–".join(both) for both in ends])
    return rows_of(columns, rows)


def page():
    text = ("# What the fleet experiments gave\n\nFor who asks what a policy does. The target `fleet_nightly` of `tests/scenario/fleet` "
            "makes this page.\n[simulator.md](simulator.md) says how to run an experiment, and what follows. "
            "Figures are medians over the seeds.\n")
    for name in names():
        experiment = experiment_of(name)
        seeds = ", ".join(str(seed) for seed in experiment["seeds"])
        kept = json.loads(results_file(name).read_text())
        text += "\n## {}\n\n{}. Seeds: {}.\n\n{}".format(name, experiment["about"], seeds, short_table(experiment, kept))
    return text


def check_the_check():
    """Otherwise no experiment could ever fail."""
    results = {"a": [{"n": 1}, {"n": 2}, {"n": 9}], "b": [{"n": 3}, {"n": 5}]}
    claim = {"figure": "/n", "variant": "b"}
    claims = [{"say": "b is twice a", **claim, "times": "a", "at_least": 2, "at_most": 2},
              {"say": "b is small", **claim, "at_most": 1}, {"say": "b is great", **claim, "at_least": 5},
              {"say": "only at night", **claim, "at_most": 1, "form": "full"}]
    assert broken_claims({"claims": claims}, results, "short") == [
        "b is small: /n of b is 4, more than 1", "b is great: /n of b is 4, less than 5"]
    assert len(broken_claims({"claims": claims}, results, "full")) == 3
    absent = {"say": "b has it", "figure": "/more/absent", "variant": "b", "at_most": 1}
    assert broken_claims({"claims": [absent]}, results, "full") == ["b has it: there is no /more/absent of b"]
    columns = {"variants": {"a": {}}, "table": [{"head": "n", "figure": "/n"}, {"head": "m", "figure": "/m"}]}
    assert table(columns, results).endswith("\n| a | 2 | - |\n")
    assert short_table({"features": {"x": {}, "y": {}, "z": {}}, "table": [{"head": "n", "figure": "/n"}]},
                       {"x and y": [{"n": 1}], "x and z": [{"n": 3}], "y and z": [{"n": 3}]}).endswith(
                           "\n| x | 1–3 |\n| y | 1–3 |\n| z | 3 |\n")
    pairs = {"features": {"x": {"app": {"n": 1}}, "y": {"e": 2}, "z": {"d": 1, "add": {"work": [{}]}}},
             "claims": [{"say": "all", "figure": "/n", "with": ["z"], "but": ["x and z"], "at_most": 1}]}
    assert scenarios_of(pairs, {"apps": [{}, {}], "work": [{"w": 1}]}) == {
        "x and y": {"apps": [{"n": 1}, {}], "work": [{"w": 1}], "e": 2},
        "x and z": {"apps": [{"n": 1}, {}], "work": [{"w": 1}, {}], "d": 1},
        "y and z": {"apps": [{}, {}], "work": [{"w": 1}, {}], "d": 1, "e": 2}}
    assert broken_claims(pairs, {"y and z": [{"n": 2}]}, "full") == ["all: /n of y and z is 2, more than 1"]
    assert merge({"a": {"b": 1, "c": 2}, "d": [1]}, {"a": {"b": None}, "d": [2]}) == {"a": {"c": 2}, "d": [2]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("form", choices=("short", "full", "kept"))
    parser.add_argument("names", nargs="*", help="experiments; none: all")
    parser.add_argument("--sim", help="the program sluice_sim", default="sluice_sim")
    args = parser.parse_intermixed_args()
    check_the_check()
    broken = []
    for name in args.names or names():
        experiment = experiment_of(name)
        if args.form == "kept":
            results = json.loads(results_file(name).read_text())
        else:
            results = run(args.sim, experiment, args.form)
            print("{}\n{}".format(name, table(experiment, results)), flush=True)
        if args.form == "full":
            results_file(name).write_text(json.dumps(results, indent=1) + "\n")
        form = "short" if args.form == "short" else "full"
        broken += ["{}: {}".format(name, line) for line in broken_claims(experiment, results, form)]
    if args.form == "full":
        PAGE.write_text(page())
    if args.form == "kept" and PAGE.read_text() != page():
        broken.append("{} is not what the results give: experiments.py full writes it".format(PAGE))
    print("\n".join(broken) if broken else "every claim holds")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
