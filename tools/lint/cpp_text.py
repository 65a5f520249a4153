"""C++ text as the rules need it: comments and literals blanked out, functions found by their braces."""
import dataclasses
import functools
import pathlib
import re

_TOKEN = re.compile(
    r'(?P<comment>//[^\n]*|/\*.*?\*/)'
    r'|(?P<raw>R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)")'
    r'|(?P<string>"(?:\\.|[^"\\\n])*")'
    # A quote between digits only groups them (1'000'000).
    r"|(?P<char>(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+')",
    re.DOTALL)
_SCOPE = re.compile(r"\b(namespace|class|struct|union|extern)\b(?:[^()]|alignas\([^()]*\))*$")
_ALLOW = re.compile(r"//\s*lint: allow ([\w, -]+): \S")


@dataclasses.dataclass(order=True)
class Problem:
    path: str
    line: int
    rule: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: [{self.rule}] {self.message}"


def _blank(match: re.Match) -> str:
    return re.sub(r"[^\n]", " ", match.group(0))


def blank_comments(text: str) -> str:
    """`text` without comments; literals stay. Line numbers and columns are kept."""
    return _TOKEN.sub(lambda match: _blank(match) if match.group("comment") else match.group(0), text)


def blank_comments_and_literals(text: str) -> str:
    return _TOKEN.sub(_blank, text)


def _kind_of_block(head: str) -> str:
    """What a brace opens after `head`: "scope" (may hold functions), "function" or "part" (neither)."""
    if _SCOPE.search(head):
        return "scope"
    return "function" if "(" in head and not re.search(r"=\s*$", head) else "part"


@dataclasses.dataclass(frozen=True)
class Source:
    path: pathlib.PurePosixPath
    text: str

    @functools.cached_property
    def code_lines(self) -> list[str]:
        return blank_comments_and_literals(self.text).split("\n")

    @functools.cached_property
    def lines(self) -> list[str]:
        return self.text.split("\n")

    def includes(self) -> list[tuple[int, str]]:
        """(line, path) of every include, with " or <."""
        found = []
        for number, line in enumerate(blank_comments(self.text).split("\n"), 1):
            match = re.match(r'\s*#\s*include\s*["<]([^">]+)[">]', line)
            if match:
                found.append((number, match.group(1)))
        return found

    def functions(self) -> list[tuple[int, int]]:
        """(first line, last line) of every outermost function with its head."""
        code = re.sub(r"(?m)^\s*#.*(?:\\\n.*)*$", _blank, "\n".join(self.code_lines))
        found, stack, head_start = [], [], 0
        for match in re.finditer(r"[{};]", code):
            position = match.start()
            if match.group(0) == "{":
                head = code[head_start:position]
                # What a function, an initialiser or an enum holds is part of it.
                kind = _kind_of_block(head) if all(kind == "scope" for kind, _ in stack) else "part"
                stack.append((kind, head_start + len(head) - len(head.lstrip())))
            elif match.group(0) == "}" and stack:
                kind, start = stack.pop()
                if kind == "function":
                    found.append((code.count("\n", 0, start) + 1, code.count("\n", 0, position) + 1))
            head_start = position + 1
        return found

    def is_allowed(self, line: int, rule: str) -> bool:
        match = _ALLOW.search(self.lines[line - 1])
        return bool(match) and rule in re.split(r"[ ,]+", match.group(1))

    def problem(self, line: int, rule: str, message: str) -> list[Problem]:
        """The problem in a list, or nothing where the line allows it."""
        return [] if self.is_allowed(line, rule) else [Problem(str(self.path), line, rule, message)]
