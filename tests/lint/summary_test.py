"""Tests of tools/lint/summary.py: what counts as passed, failed and skipped."""
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.sax.saxutils

SUMMARY = pathlib.Path(__file__).resolve().parents[2] / "tools" / "lint" / "summary.py"


def case(name: str, inner: str = "", status: str = "run") -> str:
    return f'<testcase name="{name}" status="{status}" classname="Suite">{inner}</testcase>'


class SummaryTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.build = pathlib.Path(folder.name) / "dev"
        (self.build / "results").mkdir(parents=True)

    def write_ctest(self, **statuses: str) -> None:
        tests = "".join(f'<testcase name="{name}" status="{status}"/>' for name, status in statuses.items())
        (self.build / "results" / "ctest.xml").write_text(f"<testsuite>{tests}</testsuite>")

    def write_cases(self, program: str, *cases: str) -> None:
        text = f"<testsuites><testsuite>{''.join(cases)}</testsuite></testsuites>"
        (self.build / "results" / f"{program}.xml").write_text(text)

    def run_summary(self, *more: str) -> tuple[int, list[str]]:
        run = subprocess.run([sys.executable, "-B", SUMMARY, *more, self.build], stdout=subprocess.PIPE, text=True, check=False)
        return run.returncode, run.stdout.splitlines()

    def test_cases_of_programs_and_other_tests_are_added_up(self):
        self.write_ctest(io_tests="run", lint="run")
        self.write_cases("io_tests", case("A"), case("B"), case("C", status="notrun"))
        self.assertEqual(self.run_summary(), (0, ["3 passed, 0 failed"]))

    def test_skipped_cases_come_with_their_reasons(self):
        self.write_ctest(io_tests="run")
        skipped = f"<skipped message={xml.sax.saxutils.quoteattr('a_test.cc:3' + chr(10) + 'no GPU' + chr(10))}/>"
        self.write_cases("io_tests", case("A"), *(case(name, skipped) for name in "BC"))
        self.assertEqual(self.run_summary(), (0, ["skipped 2: no GPU", "1 passed, 0 failed, 2 skipped"]))

    def test_a_failed_case_counts_once(self):
        self.write_ctest(io_tests="fail")
        self.write_cases("io_tests", case("A"), case("B", "<failure/>"))
        self.assertEqual(self.run_summary(), (1, ["failed: dev/io_tests: Suite.B", "1 passed, 1 failed"]))

    def test_a_program_that_died_is_a_failure(self):
        self.write_ctest(io_tests="fail", swap_tests="fail")
        self.write_cases("swap_tests", case("A"))  # a sanitizer's verdict at exit comes after the cases
        self.assertEqual(self.run_summary(), (1, [
            "failed: dev/io_tests: ended with an error", "failed: dev/swap_tests: ended with an error after its cases",
            "1 passed, 2 failed"]))

    def test_tests_that_were_not_run_are_failures(self):
        self.assertEqual(self.run_summary()[1], ["failed: dev: no tests were run", "0 passed, 1 failed"])
        self.write_ctest(io_tests="notrun")
        self.assertEqual(self.run_summary()[1], ["failed: dev/io_tests: was not run", "0 passed, 1 failed"])

    def test_steps_outside_of_ctest_count(self):
        self.write_ctest(lint="run")
        status, lines = self.run_summary("--failed-step", "format", "--skipped-step", "tidy: no clang-tidy here")
        self.assertEqual((status, lines[-1]), (1, "1 passed, 1 failed, 1 skipped"))


if __name__ == "__main__":
    unittest.main()
