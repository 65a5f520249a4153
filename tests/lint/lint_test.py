"""Tests of tools/lint: a small tree that is right, then one seeded fault at a time."""
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools" / "lint"))
import cpp_text  # noqa: E402
import lint  # noqa: E402

GOOD = {
    "README.md": "See `src/base/` and [the list](src/base/CMakeLists.txt).\n",
    "src/base/CMakeLists.txt": "target_sources(core PRIVATE text.cc)\n",
    "src/base/text.h": "#pragma once\nint length(const char* text);\n",
    "src/base/text.cc": '#include "src/base/text.h"\n\nint length(const char* text) {\n  return *text == 0 ? 0 : 1;\n}\n',
    "tests/base/CMakeLists.txt": "stepwell_test(NAME base SOURCES text_test.cc)\n",
    "tests/base/text_test.cc": '#include "src/base/text.h"\n',
    "include/stepwell/status.h": "#pragma once\n",
}


class LintTest(unittest.TestCase):
    def lint(self, **changes: str) -> list[str]:
        """Problems of the good tree with `changes` (path with __ for / and _dot_ for ., text)."""
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in {**GOOD, **{self.path(key): text for key, text in changes.items()}}.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text, encoding="utf-8")
            return lint.lint(root)

    @staticmethod
    def path(key: str) -> str:
        return key.replace("__", "/").replace("_dot_", ".")

    def assert_found(self, rule: str, where: str, **changes: str) -> None:
        problems = self.lint(**changes)
        self.assertEqual(len(problems), 1, problems)
        self.assertIn(f"[{rule}]", problems[0])
        self.assertTrue(problems[0].startswith(where), problems[0])

    def assert_body_found(self, rule: str, line: str) -> None:
        self.assert_found(rule, "src/base/text.cc:2:", src__base__text_dot_cc=f"void f() {{\n  {line}\n}}\n")

    def assert_body_right(self, line: str) -> None:
        self.assertEqual(self.lint(src__base__text_dot_cc=f"void f() {{\n  {line}\n}}\n"), [])

    def test_a_good_tree_has_no_problems(self):
        self.assertEqual(self.lint(), [])

    def test_long_files(self):
        self.assertEqual(self.lint(src__base__text_dot_cc="int a;\n" * 800), [])
        self.assert_found("file-length", "src/base/text.cc:1:", src__base__text_dot_cc="int a;\n" * 801)

    def test_long_functions(self):
        for head in ("int f(int a,\n      int b) {", "struct A {\n  A(int a) : a_(a) {", "template <class T>\nT g(T a) {"):
            lines = 70 - head.split("struct A {\n")[-1].count("\n") - 2
            tail = "}\n};\n" if "struct" in head else "}\n"
            with self.subTest(head=head):
                self.assertEqual(self.lint(src__base__text_dot_cc=head + "\n" + "  a();\n" * lines + tail), [])
                self.assert_found("function-length", "src/base/text.cc:",
                                  src__base__text_dot_cc=head + "\n" + "  a();\n" * (lines + 1) + tail)

    def test_long_tables_and_classes_are_no_functions(self):
        self.assertEqual(self.lint(src__base__text_dot_cc="const K k[] = {\n" + "  {row(1)}, {2},\n" * 100 + "};\n"), [])
        self.assertEqual(self.lint(src__base__text_dot_cc="class alignas(64) A {\n" + "  int f() { return 1; }\n" * 100 + "};\n"), [])

    def test_banned_calls(self):
        self.assert_body_found("raw-new", "auto* a = new int(3);")
        self.assert_body_found("raw-delete", "delete a;")
        self.assert_body_found("raw-delete", "delete[] a;")
        self.assert_body_found("cuda-malloc", "cudaMalloc(&a, 1);")
        self.assert_body_found("thread-detach", "std::thread([] {}).detach();")
        self.assert_body_found("thread-detach", "thread_.detach();")
        self.assert_body_found("assert", "assert(a);")
        self.assert_body_found("endl", "std::cout << std::endl;")
        self.assert_body_found("todo", "// " + "TODO: later")

    def test_what_looks_like_a_banned_call_only(self):
        self.assert_body_right("std::unique_ptr<A> a(new A(1));")
        self.assert_body_right("std::shared_ptr<A> a(\n      new A(1));")
        self.assert_body_right('log("assert(a), new b; delete c");  // new a, delete b')
        self.assert_body_right("log(R\"(delete \" a)\", '\\'', 1'000'000);")
        self.assert_body_right("tensor.detach(); static_assert(true);")
        self.assert_body_right("A(const A&) = delete;")
        self.assert_body_right("// " + "TODO(#12): later")

    def test_a_line_may_allow_a_rule_with_a_reason(self):
        self.assert_body_right("delete a;  // lint: allow raw-delete: a C interface wants it")
        self.assert_body_found("raw-delete", "delete a;  // lint: allow raw-delete")
        self.assert_body_found("raw-delete", "delete a;  // lint: allow endl: no")

    def test_sleeping_is_banned_in_tests_only(self):
        sleep = "void f() {\n  std::this_thread::sleep_for(a);\n}\n"
        self.assert_found("sleep", "tests/base/text_test.cc:2:", tests__base__text_test_dot_cc=sleep)
        self.assertEqual(self.lint(src__base__text_dot_cc=sleep), [])

    def test_header_guard(self):
        self.assert_found("pragma-once", "src/base/text.h:1:", src__base__text_dot_h="int a();\n")

    def test_layers(self):
        self.assert_found("layers", "src/base/text.h:2:", src__base__text_dot_h='#pragma once\n#include "io/engine.h"\n')
        self.assert_found("layers", "include/stepwell/memory/a.h:2:",
                          include__stepwell__memory__a_dot_h='#pragma once\n#include "stepwell/config.h"\n')
        self.assert_found("layers", "src/unheard/a.h:1:", src__unheard__a_dot_h="#pragma once\n")
        self.assert_found("layers", "include/stepwell/unheard.h:1:", include__stepwell__unheard_dot_h="#pragma once\n")
        self.assertEqual(self.lint(src__swap__a_dot_h='#pragma once\n#include "stepwell/status.h"\n#include "io/a.h"\n'), [])

    def test_torch_stays_out_of_the_core(self):
        torch = "#pragma once\n#include <torch/torch.h>\n"
        self.assert_found("torch-in-core", "src/zero/a.h:2:", src__zero__a_dot_h=torch)
        self.assertEqual(self.lint(src__engine__a_dot_h=torch), [])

    def test_files_that_nobody_builds(self):
        self.assert_found("build-list", "tests/base/more_test.cc:1:", tests__base__more_test_dot_cc="int a;\n")

    def test_sources_without_a_test(self):
        lists = {"src__base__CMakeLists_dot_txt": "target_sources(core PRIVATE text.cc more.cc)\n"}
        self.assert_found("coverage", "src/base/more.cc:1:", src__base__more_dot_cc="int a;\n", **lists)
        table = "# why\nsrc/base/more.cc: tests/base/text_test.cc\n"
        self.assertEqual(
            self.lint(src__base__more_dot_cc="int a;\n", tools__lint__covered_by_dot_txt=table, **lists), [])
        self.assert_found("coverage", "tools/lint/covered_by.txt:1:",
                          tools__lint__covered_by_dot_txt="src/base/gone.cc: tests/base/text_test.cc\n")

    def test_dead_links(self):
        self.assert_found("dead-link", "README.md:1:", README_dot_md="`src/gone/`\n")
        self.assert_found("dead-link", "README.md:1:", README_dot_md="[a](gone.md)\n")
        self.assertEqual(self.lint(README_dot_md="[a](https://example.org/a.md) [b](#b) `src/base`\n"), [])

    def test_paths_of_a_machine(self):
        self.assert_found("machine-path", "README.md:1:", README_dot_md="in " + "/ho" + "me/me/a\n")
        self.assertEqual(self.lint(README_dot_md="in build" + "/ho" + "me/a\n"), [])


class CppTextTest(unittest.TestCase):
    def test_blanking_keeps_every_position(self):
        text = 'a("x\\"y"); // b\n/* c\nd */ e(\'{\'); f(1\'000);\n'
        blank = cpp_text.blank_comments_and_literals(text)
        self.assertEqual(len(blank), len(text))
        self.assertEqual(blank.split(), ["a(", ");", "e(", ");", "f(1'000);"])


if __name__ == "__main__":
    unittest.main()
