"""Adds the results of all test programs up: reasons of skipped cases, then "N passed, N failed, N skipped"."""
import argparse
import collections
import json
import sys


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--failed-steps", type=int, default=0, help="steps outside of test programs that failed")
    parser.add_argument("results", nargs="*", help="JSON files written by --gtest_output=json")
    options = parser.parse_args()
    passed = skipped = 0
    failed = options.failed_steps
    reasons = collections.Counter()
    for path in options.results:
        with open(path, encoding="utf-8") as file:
            suites = json.load(file).get("testsuites", [])
        for case in (case for suite in suites for case in suite.get("testsuite", [])):
            if case.get("failures"):
                failed += 1
                print(f"failed: {case['classname']}.{case['name']} ({path})")
            elif case.get("result") == "SKIPPED":
                skipped += 1
                messages = [entry.get("message", "") for entry in case.get("skipped", [])] or ["no reason given"]
                reasons[messages[0].strip().splitlines()[-1] if messages[0].strip() else "no reason given"] += 1
            elif case.get("status") == "RUN":
                passed += 1
    for reason, count in reasons.most_common():
        print(f"skipped {count}: {reason}")
    if passed == 0:
        failed += 1
        print("no test was run")
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
