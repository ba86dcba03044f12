#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""The house rules of docs/ARCHITECTURE.md and docs/CONTRIBUTING.md that a compiler does not check.

usage: lint.py --root SOURCE_FOLDER [RULE ...]     no RULE: all of them
Exit status 1 and one line per finding (file:line: what is wrong and what to do) if anything is found.
"""
import argparse
import sys

sys.dont_write_bytecode = True

import rule_architecture
import rule_docs
import rule_format
import rule_layers
import rule_licence
import rule_log_lines
import rule_options
import rule_packages
import rule_policies
import rule_recipes
import rule_simulator
import rule_sizes
import rule_test_names
import rule_texts
import rule_type_names
import rule_unity
import rule_verdicts
from tree import Tree

RULES = {
    "layers": rule_layers.check,
    "sql": rule_texts.check_sql,
    "heavy_headers": rule_texts.check_heavy_headers,
    "sizes": rule_sizes.check,
    "policies": rule_policies.check,
    "recipes": rule_recipes.check,
    "packages": rule_packages.check,
    "simulator": rule_simulator.check,
    "options": rule_options.check,
    "forbidden": rule_texts.check_forbidden,
    "format": rule_format.check,
    "log_lines": rule_log_lines.check,
    "architecture": rule_architecture.check,
    "docs": rule_docs.check,
    "unity": rule_unity.check,
    "type_names": rule_type_names.check,
    "test_names": rule_test_names.check,
    "licence": rule_licence.check,
    "verdicts": rule_verdicts.check,
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", required=True)
    parser.add_argument("rules", nargs="*", metavar="RULE", help=", ".join(RULES))
    args = parser.parse_args()
    unknown = set(args.rules) - set(RULES)
    if unknown:
        parser.error("no such rule: " + ", ".join(sorted(unknown)))
    tree = Tree(args.root)
    if not tree.sources():
        parser.error("no C++ sources below " + args.root)
    findings = [finding for name in args.rules or RULES for finding in RULES[name](tree)]
    for finding in findings:
        print(finding)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
