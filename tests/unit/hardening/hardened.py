#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""hardened.py --programs FILE... [--libraries FILE...]: what programs and libraries of ours were built with, read from the
files themselves. Exit status 1 and a line for each thing that is missing."""
import argparse
import subprocess
import sys


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True, errors="replace").stdout


def problems_of_program(file):
    header = output("readelf", "-hW", file)
    segments = output("readelf", "-lW", file)
    dynamic = output("readelf", "-dW", file)
    stack = [line for line in segments.splitlines() if "GNU_STACK" in line]
    checks = {
        "not position independent (PIE)": "DYN (" in header,
        "no read-only relocations (-z relro)": "GNU_RELRO" in segments,
        "binds functions lazily (-z now)": "BIND_NOW" in dynamic or " NOW" in dynamic,
        "its stack is executable": len(stack) == 1 and "RWE" not in stack[0],
        "text relocations": "TEXTREL" not in dynamic,
        "looks for libraries in folders of its own (RPATH)": "RPATH" not in dynamic and "RUNPATH" not in dynamic,
    }
    return [text for text, good in checks.items() if not good]


def problems_of_libraries(files):
    """A function without arrays has no guard, so that not every object shows each of these; all together do."""
    undefined = "".join(output("nm", "-u", file) for file in files)
    problems = []
    for file in files:
        if "__stack_chk_fail" not in output("nm", "-u", file):
            problems.append(f"{file}: no stack protector")
        if output("uname", "-m").strip() == "x86_64" and "endbr64" not in output("objdump", "-d", file):
            problems.append(f"{file}: no control-flow protection (endbr64)")
    if not [word for word in undefined.split() if word.endswith("_chk")]:
        problems.append("no checked function (__memcpy_chk and the like): _FORTIFY_SOURCE has no effect")
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", nargs="+", required=True)
    parser.add_argument("--libraries", nargs="+", default=[])
    arguments = parser.parse_args()
    problems = [f"{file}: {text}" for file in arguments.programs for text in problems_of_program(file)]
    if arguments.libraries:
        problems += problems_of_libraries(arguments.libraries)
    else:
        print("built without SLUICE_HARDEN: only how the programs are linked was looked at (./runtests looks at all)")
    print(*problems, sep="\n")
    print(f"{len(arguments.programs)} programs, {len(arguments.libraries)} libraries")
    return 1 if problems else 0


sys.exit(main())
