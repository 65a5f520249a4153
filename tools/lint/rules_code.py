"""Rules about one C++ file: lengths, banned calls, header guards, layering of includes."""
import pathlib
import re

from cpp_text import Problem, Source

FILE_LINES_MAX = 800
FUNCTION_LINES_MAX = 70

# Each folder with its height; a file includes only its own folder and lower ones. Folders of equal height do not know
# each other.
HEIGHTS = {
    "base": 0, "io": 1, "memory": 1, "device": 2, "swap": 2, "schedule": 2, "config": 2, "residency": 3,
    "comm": 4, "optim": 4, "paging": 4, "data": 4, "zero": 5, "engine": 6, "models": 7, "tools": 8,
}
WITH_TORCH = {"paging", "engine", "models", "tools"}
# Headers right in include/stepwell belong to the folder that implements them.
PUBLIC_HEADERS = {
    "bytes.h": "base", "check.h": "base", "ids.h": "base", "log.h": "base", "status.h": "base", "config.h": "config",
    "report.h": "residency", "zero.h": "paging", "engine.h": "engine", "stepwell.h": "engine",
}

# (rule, pattern on code without comments and literals, folders left out, message)
BANNED = [
    ("raw-delete", r"\bdelete\b(?!\s*[;,)])|\bdelete\s*\[|\boperator delete\b", (), "raw delete: let an owner do it"),
    ("cuda-malloc", r"\bcudaMalloc\w*\s*\(", ("src/device",), "device memory comes from src/device only"),
    ("thread-detach", r"\bstd::thread\s*\([^;]*\.\s*detach\s*\(|\bthreads?_?\s*(?:\.|->)\s*detach\s*\(", (),
     "a detached thread outlives what it uses: join it"),
    ("assert", r"\bassert\s*\(", (), "assert vanishes in release builds: use STEPWELL_CHECK"),
    ("endl", r"\bstd::endl\b", (), "std::endl flushes: write \\n"),
]
BANNED_IN_TESTS = [
    ("sleep", r"\bsleep_(?:for|until)\s*\(|\b(?:u|nano)?sleep\s*\(", (), "sleeping tests are slow and flaky: wait for the event"),
]


def folder_of(path: pathlib.PurePosixPath) -> str | None:
    """The folder in terms of HEIGHTS, or nothing for files that are under no layering (tests)."""
    parts = path.parts
    if parts[:2] == ("include", "stepwell"):
        return PUBLIC_HEADERS.get(parts[2]) if len(parts) == 3 else parts[2]
    if parts[0] == "src":
        return parts[1]
    return parts[0] if parts[0] in HEIGHTS else None


def folder_of_include(include: str) -> str | None:
    if include.startswith("stepwell/"):
        return folder_of(pathlib.PurePosixPath("include") / include)
    return folder_of(pathlib.PurePosixPath(include)) if include.startswith(("src/", "io/", "swap/", "tools/")) else None


def check_lengths(source: Source) -> list[Problem]:
    problems = []
    count = source.text.count("\n")
    if count > FILE_LINES_MAX:
        problems += source.problem(1, "file-length", f"{count} lines, at most {FILE_LINES_MAX}: split the file")
    for first, last in source.functions():
        if last - first + 1 > FUNCTION_LINES_MAX:
            problems += source.problem(
                first, "function-length", f"{last - first + 1} lines, at most {FUNCTION_LINES_MAX}: split the function")
    return problems


def check_banned(source: Source) -> list[Problem]:
    problems = []
    banned = BANNED + (BANNED_IN_TESTS if source.path.parts[0] == "tests" else [])
    for rule, pattern, left_out, message in banned:
        if str(source.path).startswith(left_out or ("\0",)):
            continue
        for number, line in enumerate(source.code_lines, 1):
            if re.search(pattern, line):
                problems += source.problem(number, rule, message)
    return problems


def check_raw_new(source: Source) -> list[Problem]:
    """`new` may only stand right in the constructor of a smart pointer, which private constructors need."""
    code = "\n".join(source.code_lines)
    problems = []
    for match in re.finditer(r"\bnew\b(?!\s*\()", code):
        statement = code[max(code.rfind(mark, 0, match.start()) for mark in ";{}") + 1:match.start()]
        if not re.search(r"\b(?:unique|shared)_ptr<[^()]*\(\s*$", statement):
            problems += source.problem(code.count("\n", 0, match.start()) + 1, "raw-new", "raw new: use std::make_unique")
    return problems


def check_todo(source: Source) -> list[Problem]:
    problems = []
    for number, line in enumerate(source.lines, 1):
        if re.search(r"\b(TODO|FIXME|XXX)\b(?!\(#\d+\))", line):
            problems += source.problem(number, "todo", "name an issue, as in TODO(#12), or do it now")
    return problems


def check_header_guard(source: Source) -> list[Problem]:
    if source.path.suffix != ".h" or "#pragma once" in source.text.split("\n"):
        return []
    return source.problem(1, "pragma-once", "a header needs #pragma once")


def check_layers(source: Source) -> list[Problem]:
    own = folder_of(source.path)
    if source.path.parts[:2] == ("include", "stepwell") and own is None:
        return source.problem(1, "layers", f"say in PUBLIC_HEADERS which folder {source.path.name} belongs to")
    if own is None:
        return []
    if own not in HEIGHTS:
        return source.problem(1, "layers", f"say in HEIGHTS how high the folder '{own}' is")
    problems = []
    for line, include in source.includes():
        other = folder_of_include(include)
        if other is not None and other != own and HEIGHTS.get(other, 99) >= HEIGHTS[own]:
            problems += source.problem(line, "layers", f"'{own}' is not above '{other}' and must not include it")
        if re.match(r"(torch|ATen|c10)/", include) and own not in WITH_TORCH:
            problems += source.problem(line, "torch-in-core", f"'{own}' is built without LibTorch")
    return problems


def check(source: Source) -> list[Problem]:
    return (check_lengths(source) + check_banned(source) + check_raw_new(source) + check_todo(source) +
            check_header_guard(source) + check_layers(source))
