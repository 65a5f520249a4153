#!/usr/bin/env python3
"""Adds up what ctest ran: failed cases by name, reasons of skipped ones, then "N passed, N failed, N skipped".

Each BUILD is a build folder with results/ctest.xml (ctest --output-junit) and results/NAME.xml of every GoogleTest
program. Of such a program its cases count, of any other test the test itself. A program that died counts as one
failure, whatever it ran before.
"""
import argparse
import collections
import dataclasses
import pathlib
import sys
import xml.etree.ElementTree


@dataclasses.dataclass
class Totals:
    passed: int = 0
    failures: list[str] = dataclasses.field(default_factory=list)
    skipped: collections.Counter = dataclasses.field(default_factory=collections.Counter)  # by reason

    def line(self) -> str:
        skipped = sum(self.skipped.values())
        return f"{self.passed} passed, {len(self.failures)} failed" + (f", {skipped} skipped" if skipped else "")


def add_cases(totals: Totals, path: pathlib.Path, label: str) -> bool:
    """Adds the cases of one GoogleTest program; whether one of them failed."""
    failed = False
    for case in xml.etree.ElementTree.parse(path).getroot().iter("testcase"):
        skipped = case.find("skipped")
        if case.find("failure") is not None:
            totals.failures.append(f"{label}: {case.get('classname')}.{case.get('name')}")
            failed = True
        elif skipped is not None:
            # GoogleTest writes "FILE:LINE", then the message.
            message = skipped.get("message", "").strip().split("\n", 1)
            totals.skipped[message[-1].strip() or "no reason given"] += 1
        elif case.get("status") == "run":
            totals.passed += 1
    return failed


def add_build(totals: Totals, build: pathlib.Path) -> None:
    results = build / "results"
    if not (results / "ctest.xml").is_file():
        totals.failures.append(f"{build.name}: no tests were run")
        return
    for test in xml.etree.ElementTree.parse(results / "ctest.xml").getroot().iter("testcase"):
        name, status = test.get("name", ""), test.get("status", "")
        label = f"{build.name}/{name}"
        cases = results / f"{name}.xml"
        case_failed = False
        if cases.is_file():
            case_failed = add_cases(totals, cases, label)
        elif status == "run":
            totals.passed += 1
        elif status in ("notrun", "disabled"):
            totals.failures.append(f"{label}: was not run")
        if status == "fail" and not case_failed:
            totals.failures.append(f"{label}: ended with an error" + (" after its cases" if cases.is_file() else ""))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--failed-step", action="append", default=[], help="a step outside of ctest that failed")
    parser.add_argument("--skipped-step", action="append", default=[], help="a step that was left out, and why")
    parser.add_argument("builds", nargs="*", type=pathlib.Path, metavar="BUILD")
    options = parser.parse_args()
    totals = Totals(failures=[f"step: {name}" for name in options.failed_step])
    totals.skipped.update(options.skipped_step)
    for build in options.builds:
        add_build(totals, build)
    for failure in totals.failures:
        print(f"failed: {failure}")
    for reason, count in totals.skipped.most_common():
        print(f"skipped {count}: {reason}")
    print(totals.line())
    return 1 if totals.failures else 0


if __name__ == "__main__":
    sys.exit(main())
