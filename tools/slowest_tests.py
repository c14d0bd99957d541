#!/usr/bin/env python3
"""Prints the slowest tests from a JUnit file of ctest --output-junit, and the total time of all tests.

    tools/slowest_tests.py build/check/tests.xml [--count 50]
"""
import argparse
import xml.etree.ElementTree as ElementTree


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("results", help="the file that ctest wrote")
    p.add_argument("--count", type=int, default=50, help="tests to print")
    args = p.parse_args()
    cases = [(float(case.get("time") or 0), case.get("name"), case.get("status"))
             for case in ElementTree.parse(args.results).getroot().iter("testcase")]
    cases.sort(reverse=True)
    print(f"the {min(args.count, len(cases))} slowest of {len(cases)} tests, which took "
          f"{sum(time for time, _, _ in cases):.0f} s together:")
    for time, name, status in cases[:args.count]:
        print(f"{time:8.1f} s  {name}{'' if status == 'run' else f'  ({status})'}")


if __name__ == "__main__":
    main()
