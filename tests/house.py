"""The rules of the house as small functions: each takes texts by path and yields what is wrong with them."""

import ast
import functools
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import TypeAlias

Texts: TypeAlias = Mapping[str, str]
Rule: TypeAlias = Callable[[Texts], Iterator[str]]

SRC = "src/choiros/"
KERNEL = SRC + "kernel/"
FEATURES = SRC + "features/"
ENGINES = SRC + "engines/"
CLOCKS = (ENGINES + "clock/", ENGINES + "ids/")
SETTINGS = SRC + "settings.py"
PATHS = KERNEL + "path.py"
MAY_CATCH_ALL = (SRC + "server/", SRC + "cli/", KERNEL + "projector.py", KERNEL + "reactor.py")

KERNEL_LINES_MAX = 2500
FILE_LINES_MAX = 500
FUNCTION_LINES_MAX = 70
PORT_METHODS_MAX = 6

REFUSED_ROOMS = {"util", "helper", "common", "base", "misc", "manager", "service", "handler", "type"}
FILE_DOORS = {"read_text", "write_text", "read_bytes", "write_bytes"}
TIME_AND_CHANCE = {
    *("datetime.now", "datetime.utcnow", "datetime.today", "date.today", "time.time", "time.time_ns"),
    *("uuid.uuid1", "uuid.uuid4", "uuid1", "uuid4", "os.urandom"),
}
CHANCE = {"random", "secrets"}
ENVIRONMENT = {"os.environ", "os.environb", "os.getenv", "os.putenv"}
PATH_NAME = re.compile(
    r"(^|_)(path|root|folder|directory|dir|target|workspace|parent|base|where)s?$|^(str|fspath|as_posix)$"
)
FOREIGN = re.compile(
    r"(?<![\w.-])/(?:work|root|farm)/"
    r"|\bfiles\.pythonhosted\.|\bpypi\.org\b|\bregistry\.npmjs\."
    r"|--(?:extra-)?index-url[ =]\S|--find-links[ =]\S"
)
# Who opens files for writing, and where; only the merger's engine does so inside a workspace.
MAY_WRITE_FILES = {
    ENGINES + "tree/": "workspaces: the merger's engine, which the merger alone calls",
    ENGINES + "blob/": "contents, in the data directory",
    ENGINES + "lock/": "the lock, in the data directory",
    ENGINES + "log/": "the log, in the data directory",
    ENGINES
    + "repository/": "repositories, in the data directory, and once a pointer to one in its workspace",
    ENGINES + "tables/": "the state and its snapshots, in the data directory",
    ENGINES + "signer/": "keys, in a directory of their own",
    ENGINES + "witness/": "what a witness keeps: elsewhere, and what is known of it in the data directory",
    SRC + "cli/proof.py": "a proof file, where the person wants it",
    SRC + "cli/tour.py": "a data directory for the tour, thrown away at its end",
    ENGINES + "archive/": "an export or a backup, where the person wants it",
    SRC + "wiring/portable/": "what is made ready beside the data, and takes its place",
    SRC + "wiring/disk.py": "the directories that all this lies in",
    SETTINGS: "the settings file",
    SRC + "testing/": "folders of tests",
}
MERGER = FEATURES + "files/react.py"
WRITING_CALLS = {
    *("write_text", "write_bytes", "mkdir", "makedirs", "rename", "renames", "unlink", "rmdir", "touch"),
    *("symlink", "symlink_to", "hardlink_to", "chmod", "fchmod", "truncate", "ftruncate", "rmtree"),
    *("copyfile", "copytree", "copy2", "mkstemp", "mkdtemp", "NamedTemporaryFile", "os.replace", "os.remove"),
}
WRITING_FLAGS = {"O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC", "O_APPEND"}
WRITING_SQL = re.compile(r"\s*(INSERT|UPDATE|DELETE|REPLACE|CREATE|DROP|ALTER)\s")
MAY_WRITE_TABLES = re.compile(
    rf"{FEATURES}\w+/view\.py|{KERNEL}(projector|reactor)\.py|{SRC}wiring/repair\.py"
    rf"|{ENGINES}(log|tables)/\w+\.py|{SRC}testing/\w+\.py"
)
ABSOLUTE = re.compile(r"/(?:home|root|usr|etc|var|tmp|opt|srv|mnt|media|Users|bin|lib)(?:/|$)")
ADDRESS = re.compile(
    r"https?://[\w-]+\.[\w.-]*\w|\b\d{1,3}(?:\.\d{1,3}){3}\b|\b(?:localhost|[\w-]+\.(?:com|org|net|io)):\d+"
    r"|\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"
)
# Modules whose test lies elsewhere, each with the reason.
TESTED_ELSEWHERE = {
    ENGINES: "every engine passes the contract suite of its port: tests/contract",
    SRC + "testing/": "the contract suites and doubles are exercised by the tests that use them",
}
REQUIRED = {
    *(
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        "SECURITY.md",
        "LICENSE",
        "AGENTS.md",
    ),
    *("choir", ".ci/run", "pyproject.toml", "requirements/run.txt", "requirements/dev.txt"),
    *("docs/glossary.md", "src/choiros/py.typed"),
}


@functools.cache
def parsed(text: str) -> ast.Module:
    return ast.parse(text)


def nodes(text: str) -> Iterator[ast.AST]:
    return ast.walk(parsed(text))


def python(texts: Texts, *below: str, outside: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """Yield path and text of each Python file below one of the given places."""
    for path, text in texts.items():
        if (
            path.endswith(".py")
            and path.startswith(below or "")
            and not (outside and path.startswith(outside))
        ):
            yield path, text


def dotted(node: ast.AST) -> str:
    """Return 'a.b.c' for such an expression; for a longer chain its end, and nothing for anything else."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=name):
            before = dotted(value)
            return f"{before}.{name}" if before else name
        case ast.Call(func=function):
            return dotted(function)
        case _:
            return ""


def imported(node: ast.AST) -> list[str]:
    match node:
        case ast.Import(names=names):
            return [name.name for name in names]
        case ast.ImportFrom(module=str(module), names=names):
            return [f"{module}.{name.name}" for name in names]
        case _:
            return []


def protocols(text: str) -> list[ast.ClassDef]:
    classes = [node for node in nodes(text) if isinstance(node, ast.ClassDef)]
    return [node for node in classes if any(dotted(strip_index(base)) == "Protocol" for base in node.bases)]


def strip_index(node: ast.expr) -> ast.expr:
    return node.value if isinstance(node, ast.Subscript) else node


def functions(node: ast.AST) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [part for part in ast.walk(node) if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef)]


def rooms_have_a_sign(texts: Texts) -> Iterator[str]:
    """utils, helpers and the like are names for what nobody has thought about."""
    for path, _ in python(texts):
        for part in PurePosixPath(path).with_suffix("").parts:
            if part.strip("_").removesuffix("s") in REFUSED_ROOMS:
                yield f"{path}: '{part}' says nothing about what is inside"


def functions_are_short(texts: Texts) -> Iterator[str]:
    for path, text in python(texts):
        for function in functions(parsed(text)):
            lines = (function.end_lineno or function.lineno) - function.lineno + 1
            if lines > FUNCTION_LINES_MAX:
                yield (
                    f"{path}:{function.lineno}: {function.name} has {lines} lines;"
                    f" {FUNCTION_LINES_MAX} is the limit, 40 is wanted"
                )


def files_are_short(texts: Texts) -> Iterator[str]:
    for path, text in texts.items():
        generated = (
            path.startswith(("requirements/", "docs/reference/", "bench/history")) or path == "LICENSE"
        )
        if not generated and (lines := text.count("\n")) > FILE_LINES_MAX:
            yield f"{path}: {lines} lines; {FILE_LINES_MAX} is the limit, 300 is wanted"


def the_kernel_stays_small(texts: Texts) -> Iterator[str]:
    lines = sum(text.count("\n") for _, text in python(texts, KERNEL))
    if lines > KERNEL_LINES_MAX:
        yield f"{KERNEL}: {lines} lines; {KERNEL_LINES_MAX} is the limit for the whole kernel"


def kernel_and_features_open_nothing(texts: Texts) -> Iterator[str]:
    for path, text in python(texts, KERNEL, FEATURES):
        for node in nodes(text):
            if isinstance(node, ast.Call) and (
                dotted(node) == "open" or dotted(node).split(".")[-1] in FILE_DOORS
            ):
                yield f"{path}:{node.lineno}: {dotted(node)}: files are a matter of engines"


def kernel_and_features_know_only_pure_paths(texts: Texts) -> Iterator[str]:
    for path, text in python(texts, KERNEL, FEATURES):
        for node in nodes(text):
            for name in imported(node):
                if name.split(".")[0] == "pathlib" and name != "pathlib.PurePosixPath":
                    yield f"{path}: {name}: only PurePosixPath is a value; the others are doors to the disk"


def time_and_chance_come_from_ports(texts: Texts) -> Iterator[str]:
    for path, text in python(texts, SRC, outside=CLOCKS):
        for node in nodes(text):
            used = [
                name for name in imported(node) if name.split(".")[0] in CHANCE or name in TIME_AND_CHANCE
            ]
            if isinstance(node, ast.Attribute) and ".".join(dotted(node).split(".")[-2:]) in TIME_AND_CHANCE:
                used.append(dotted(node))
            yield from (f"{path}: {name}: time and chance come from the ports clock and ids" for name in used)


def only_settings_read_the_environment(texts: Texts) -> Iterator[str]:
    for path, text in python(texts, SRC, outside=(SETTINGS,)):
        for node in nodes(text):
            used = [dotted(node)] if isinstance(node, ast.Attribute) else imported(node)
            if ENVIRONMENT.intersection(used):
                yield f"{path}: {used[0]}: only settings.py reads the environment"


def modules_open_with_a_sentence(texts: Texts) -> Iterator[str]:
    for path, text in python(texts, SRC):
        first = (ast.get_docstring(parsed(text)) or "").split("\n\n")[0].strip()
        begins = first[:1].isupper() or first.startswith("choir ")  # a verb's module begins with the verb
        is_sentence = begins and first.endswith((".", ":", "?")) and len(first.split()) > 2
        if not is_sentence:
            yield f"{path}: it opens with no sentence that a newcomer understands"


def is_path_like(node: ast.expr) -> bool:
    return any(PATH_NAME.search(part) for part in dotted(node).split("."))


def paths_are_not_compared_as_strings(texts: Texts) -> Iterator[str]:
    """'/home/anna2' starts with '/home/anna': kernel/path.py compares parts, engines use descriptors."""
    for path, text in python(texts, SRC, outside=(PATHS,)):
        for node in nodes(text):
            match node:
                case ast.Call(
                    func=ast.Attribute(value=value, attr="startswith" | "removeprefix"), args=[argument]
                ):
                    if is_path_like(value) or is_path_like(argument):
                        yield f"{path}:{node.lineno}: a prefix of a path is no folder: use kernel/path.py"
                case ast.Attribute(attr="commonprefix" | "commonpath"):
                    yield f"{path}:{node.lineno}: {node.attr}: use kernel/path.py"
                case _:
                    pass


def nothing_swallows_every_error(texts: Texts) -> Iterator[str]:
    for path, text in python(texts, SRC, outside=MAY_CATCH_ALL):
        for node in nodes(text):
            if isinstance(node, ast.ExceptHandler) and is_broad(node.type) and not ends_with_raise(node.body):
                yield f"{path}:{node.lineno}: a broad except belongs to server/, cli/ and the two runners"
            if (
                isinstance(node, ast.Call)
                and dotted(node).endswith("suppress")
                and any(map(is_broad, node.args))
            ):
                yield f"{path}:{node.lineno}: suppress of every error"


def is_broad(caught: ast.expr | None) -> bool:
    names = caught.elts if isinstance(caught, ast.Tuple) else [caught]
    return any(name is None or dotted(name) in {"Exception", "BaseException"} for name in names)


def ends_with_raise(body: list[ast.stmt]) -> bool:
    return isinstance(body[-1], ast.Raise)


def ports_are_narrow(texts: Texts) -> Iterator[str]:
    for path, text in python(texts, KERNEL):
        for port in protocols(text):
            methods = [function for function in functions(port) if not function.name.startswith("_")]
            if len(methods) > PORT_METHODS_MAX:
                yield f"{path}: {port.name} has {len(methods)} methods; a port has at most {PORT_METHODS_MAX}"


def engines_have_a_port_and_a_contract(texts: Texts) -> Iterator[str]:
    parts = (PurePosixPath(path).parts for path, _ in python(texts, ENGINES))
    for port in sorted({name[3] for name in parts if len(name) > 4}):
        if not protocols(texts.get(f"{KERNEL}{port}.py", "")):
            yield f"{ENGINES}{port}/: no port: kernel/{port}.py with a Protocol is missing"
        if f"{SRC}testing/{port}_contract.py" not in texts:
            yield f"{ENGINES}{port}/: no contract: testing/{port}_contract.py is missing"


def tests_mirror_the_source(texts: Texts) -> Iterator[str]:
    elsewhere = tuple(TESTED_ELSEWHERE)
    for path, text in python(texts, SRC, outside=elsewhere):
        module = PurePosixPath(path.removeprefix(SRC))
        twin = f"tests/unit/{module.with_name(f'test_{module.name}')}"
        if has_code(text) and twin not in texts:
            yield f"{path}: {twin} is missing"


def has_code(text: str) -> bool:
    """Whether there is a function with a body; a Protocol only promises."""
    promised = {function for port in protocols(text) for function in functions(port)}
    return any(function not in promised for function in functions(parsed(text)))


def feature_rooms_hold_only_a_sign(texts: Texts) -> Iterator[str]:
    for path, text in python(texts, FEATURES):
        if path.endswith("/__init__.py") and len(parsed(text).body) > 1:
            yield f"{path}: says what the room is for, and nothing else"


def no_workplace_is_named(texts: Texts) -> Iterator[str]:
    for path, text in texts.items():
        for number, line in enumerate(text.splitlines(), 1):
            if found := FOREIGN.search(line):
                yield f"{path}:{number}: '{found[0]}' names a package host or a machine"


def only_the_merger_writes_workspaces(texts: Texts) -> Iterator[str]:
    for path, text in python(texts, SRC, outside=tuple(MAY_WRITE_FILES)):
        for node in nodes(text):
            if isinstance(node, ast.Call) and is_writing(node):
                yield f"{path}:{node.lineno}: {dotted(node)} writes files; see MAY_WRITE_FILES for who may"
    for path, text in python(texts, SRC, outside=(ENGINES, SRC + "testing/", MERGER)):
        for node in nodes(text):
            if isinstance(node, ast.Call) and dotted(node).split(".")[-2:] in (
                ["tree", "apply"],
                ["tree", "sweep"],
            ):
                yield f"{path}:{node.lineno}: {dotted(node)} changes a folder; only the merger may"


def is_writing(call: ast.Call) -> bool:
    name = dotted(call.func)
    if name in WRITING_CALLS or name.rpartition(".")[2] in WRITING_CALLS:
        return True
    if name.rpartition(".")[2] != "open" or (call.args and dotted(call.args[0]) == "os.devnull"):
        return False
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    parts = [part for argument in given for part in ast.walk(argument)]
    modes = [part.value for part in given[: 2 if name == "open" else 1] if isinstance(part, ast.Constant)]
    flags = {part.attr for part in parts if isinstance(part, ast.Attribute)}
    return bool(flags & WRITING_FLAGS) or any(
        re.fullmatch(r"[rbt]*[wax+][wax+bt]*", str(one)) for one in modes
    )


def only_views_write_tables(texts: Texts) -> Iterator[str]:
    for path, text in python(texts, SRC):
        if not MAY_WRITE_TABLES.fullmatch(path):
            for line, value in constants(text):
                if WRITING_SQL.match(value):
                    yield f"{path}:{line}: '{value.strip()[:40]}' writes tables; only views and their runners may"


def nothing_is_hard_coded(texts: Texts) -> Iterator[str]:
    for path, text in python(texts, SRC, outside=(SRC + "testing/",)):
        for line, value in constants(text):
            if found := ADDRESS.search(value) or ABSOLUTE.match(value):
                yield f"{path}:{line}: '{found[0]}' is an address or a place that a setting should give"


def constants(text: str) -> Iterator[tuple[int, str]]:
    """Yield line and value of each text in the code that is no docstring."""
    told = {
        id(node.value)
        for node in nodes(text)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in nodes(text):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in told:
            yield node.lineno, node.value


def what_a_project_needs_is_there(texts: Texts) -> Iterator[str]:
    for path in sorted(REQUIRED - set(texts)):
        yield f"{path} is missing"
