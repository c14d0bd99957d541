#!/usr/bin/env python3
"""Prints a --gtest_filter of the patterns in a file, and fails if one of them matches no test of the programs.

    tools/test_filter.py tests/support/tsan_tests.txt build/tsan/tests/test_base build/tsan/tests/test_pod

Each line of the file is a pattern of tests to run, with "-" a pattern of tests to leave out, or with "#" a comment.
"""
import argparse
import fnmatch
import subprocess
import sys


def tests_of(program):
    """Returns the names of the tests of a program, SUITE.TEST."""
    listed = subprocess.run([program, "--gtest_list_tests"], capture_output=True, text=True, check=True).stdout
    names, suite = [], ""
    for line in listed.splitlines():
        word = line.split("#")[0].rstrip()
        if line.startswith("  "):
            names.append(suite + word.strip())
        elif word.endswith("."):
            suite = word
    return names


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("patterns", help="the file")
    p.add_argument("programs", nargs="+", help="test programs")
    args = p.parse_args()
    with open(args.patterns) as file:
        lines = [line.strip() for line in file if line.strip() and not line.startswith("#")]
    tests = [name for program in args.programs for name in tests_of(program)]
    unused = [line for line in lines if not any(fnmatch.fnmatchcase(name, line.lstrip("-")) for name in tests)]
    if unused:
        sys.exit(f"{args.patterns}: no test is named {', '.join(unused)}\n"
                 "hint: correct or remove these lines; a test was renamed or removed")
    wanted = [line for line in lines if not line.startswith("-")]
    left_out = [line[1:] for line in lines if line.startswith("-")]
    print(":".join(wanted or ["*"]) + ("-" + ":".join(left_out) if left_out else ""))


if __name__ == "__main__":
    main()
