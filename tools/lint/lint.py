#!/usr/bin/env python3
"""Checks what the compiler and clang-tidy cannot see. Run by ctest as "lint"; prints "path:line: [rule] message".

A line that must break a rule says so: // lint: allow RULE: reason
"""
import argparse
import pathlib
import statistics
import sys

import cpp_text
import rules_code
import rules_tree

SOURCE_FOLDERS = ("include", "io", "swap", "src", "tools", "tests")
LEFT_OUT = {".git", ".cache", "build", "out", "__pycache__"}


def tree_files(root: pathlib.Path) -> list[pathlib.PurePosixPath]:
    """Every file of the tree, relative to its top; build results and caches are no part of it."""
    found = []
    for path in sorted(root.rglob("*")):
        relative = path.relative_to(root)
        if path.is_file() and not LEFT_OUT.intersection(relative.parts):
            found.append(pathlib.PurePosixPath(relative.as_posix()))
    return found


def is_cpp(path: pathlib.PurePosixPath) -> bool:
    return path.parts[0] in SOURCE_FOLDERS and path.suffix in (".h", ".cc", ".cu")


def lint(root: pathlib.Path) -> list[str]:
    files = tree_files(root)
    problems = rules_tree.check(root, files)
    for path in filter(is_cpp, files):
        problems += rules_code.check(cpp_text.Source(path, (root / path).read_text(encoding="utf-8")))
    return [str(problem) for problem in sorted(problems)]


def median_length(root: pathlib.Path) -> int:
    lengths = [(root / path).read_bytes().count(b"\n") for path in filter(is_cpp, tree_files(root))]
    return int(statistics.median(lengths)) if lengths else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default_root = pathlib.Path(__file__).resolve().parents[2]
    parser.add_argument("root", nargs="?", type=pathlib.Path, default=default_root, help="top of the tree")
    root = parser.parse_args().root
    problems = lint(root)
    for problem in problems:
        print(problem)
    print(f"lint: {len(problems)} problems; median length of a C++ file: {median_length(root)} lines (at most 200 wanted)")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
