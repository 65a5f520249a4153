"""Rules about the tree as a whole: build lists, tests of sources, links of documents, paths of a machine."""
import pathlib
import re

from cpp_text import Problem

# Spelt in pieces, or this file would break its own rule.
_MACHINE_PATH = re.compile(r"(?<![\w.$}*-])/(?:" + "|".join(("wo" + "rk", "ro" + "ot", "ho" + "me")) + r")/")
_TEXT_SUFFIXES = {".h", ".cc", ".cu", ".py", ".md", ".txt", ".cmake", ".in", ".json", ".sh", ".yml", ".yaml", ""}
_COVERAGE_TABLE = "tools/lint/covered_by.txt"

Paths = list[pathlib.PurePosixPath]


def _normal(path: pathlib.PurePosixPath) -> str:
    parts: list[str] = []
    for part in path.parts:
        if part == ".." and parts:
            parts.pop()
        elif part != ".":
            parts.append(part)
    return "/".join(parts)


def check_build_lists(root: pathlib.Path, files: Paths) -> list[Problem]:
    """Each source file is named by a CMakeLists.txt, or nobody compiles it."""
    listed = set()
    for path in files:
        if path.name == "CMakeLists.txt":
            for name in re.findall(r"[\w./-]+\.(?:cc|cu)\b", (root / path).read_text(encoding="utf-8")):
                listed.add(_normal(path.parent / name))
    return [Problem(str(path), 1, "build-list", "no CMakeLists.txt names this file")
            for path in files if path.suffix in (".cc", ".cu") and str(path) not in listed]


def test_path_of(path: pathlib.PurePosixPath) -> str | None:
    """Where the test of a source file belongs; nothing for files that are tests themselves."""
    parts = path.parts
    if parts[0] in ("io", "swap"):
        folder = parts[0]
    elif parts[0] == "src":
        folder = parts[1]
    elif parts[0] == "tools":
        # The oldest program's tests are those of the folder as a whole.
        folder = "tools" if parts[1] == "train" else parts[1]
    else:
        return None
    return f"tests/{folder}/{path.stem}_test.cc"


def read_coverage_table(root: pathlib.Path) -> tuple[dict[str, str], list[Problem]]:
    """Sources that another test than their own covers: "source: test"."""
    table, problems = {}, []
    file = root / _COVERAGE_TABLE
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines() if file.exists() else [], 1):
        source, _, test = (part.strip() for part in line.partition(":"))
        if not line.strip() or line.startswith("#"):
            continue
        table[source] = test
        for path in (source, test):
            if not (root / path).is_file():
                problems.append(Problem(_COVERAGE_TABLE, number, "coverage", f"there is no file '{path}'"))
    return table, problems


def check_tests(root: pathlib.Path, files: Paths) -> list[Problem]:
    table, problems = read_coverage_table(root)
    names = {str(path) for path in files}
    for path in files:
        test = test_path_of(path) if path.suffix == ".cc" else None
        if test is not None and test not in names and str(path) not in table:
            problems.append(Problem(str(path), 1, "coverage",
                                    f"has no {test}; write it, or name the test that covers it in {_COVERAGE_TABLE}"))
    return problems


def check_links(root: pathlib.Path, files: Paths) -> list[Problem]:
    """What documents link to, and what they call by a path from the top of the tree, exists."""
    tops = "include|io|swap|src|tools|tests|configs"
    problems = []
    for path in files:
        if path.suffix != ".md":
            continue
        for number, line in enumerate((root / path).read_text(encoding="utf-8").split("\n"), 1):
            links = [path.parent / link for link in re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", line)]
            named = [pathlib.PurePosixPath(name)
                     for name in re.findall(rf"`((?:{tops})/[\w./-]*)`", line)]
            for target in links + named:
                if not (root / _normal(target)).exists():
                    problems.append(Problem(str(path), number, "dead-link", f"there is no '{_normal(target)}'"))
    return problems


def check_machine_paths(root: pathlib.Path, files: Paths) -> list[Problem]:
    problems = []
    for path in files:
        if path.suffix not in _TEXT_SUFFIXES:
            continue
        text = (root / path).read_text(encoding="utf-8", errors="replace")
        for number, line in enumerate(text.split("\n"), 1):
            if _MACHINE_PATH.search(line):
                problems.append(Problem(str(path), number, "machine-path", "a path of somebody's machine"))
    return problems


def check(root: pathlib.Path, files: Paths) -> list[Problem]:
    return (check_build_lists(root, files) + check_tests(root, files) + check_links(root, files) +
            check_machine_paths(root, files))
