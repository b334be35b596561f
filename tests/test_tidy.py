"""The checkout follows the rules of the house, and each rule finds a violation that is planted for it.

Among them: nothing is hard-coded (C-13), views alone are written from events (C-78), and nobody but the merger
opens files of a workspace for writing (F-50); tests/e2e/test_one_merger.py watches the last one at work.
"""

import pytest

from tests import house
from tests.checkout import checkout
from tests.house import Rule, Texts

K, F, E = house.KERNEL, house.FEATURES, house.ENGINES
PROTOCOL = "from typing import Protocol\nclass Port(Protocol):\n"
LONG_FUNCTION = "def f():\n" + "    x = 1\n" * house.FUNCTION_LINES_MAX
WIDE_PORT = PROTOCOL + "".join(f"    def m{n}(self): ...\n" for n in range(house.PORT_METHODS_MAX + 1))

# Every rule with texts that break it. One that is found in each is a rule that can fail.
PLANTED: dict[Rule, list[Texts]] = {
    house.rooms_have_a_sign: [
        {"src/choiros/kernel/utils.py": ""},
        {"src/choiros/helpers/log.py": ""},
        {"tests/unit/common.py": ""},
    ],
    house.functions_are_short: [{"bench/a.py": LONG_FUNCTION}],
    house.files_are_short: [{"docs/long.md": "\n" * (house.FILE_LINES_MAX + 1)}],
    house.the_kernel_stays_small: [{f"{K}{n}.py": "\n" * 300 for n in range(9)}],
    house.kernel_and_features_open_nothing: [
        {K + "a.py": "open('x')"},
        {F + "files/a.py": "where.read_text()"},
        {F + "files/a.py": "Path('x').write_bytes(b'')"},
    ],
    house.kernel_and_features_know_only_pure_paths: [
        {K + "a.py": "import pathlib"},
        {F + "files/a.py": "from pathlib import Path, PurePosixPath"},
    ],
    house.time_and_chance_come_from_ports: [
        {K + "a.py": "from random import choice"},
        {E + "log/a.py": "import datetime\nnow = datetime.datetime.now()"},
        {F + "files/a.py": "import time\nnow = time.time()"},
        {house.SRC + "wiring.py": "import uuid\nid = uuid.uuid4()"},
        {house.SRC + "wiring.py": "from uuid import uuid4"},
    ],
    house.only_settings_read_the_environment: [
        {house.SRC + "wiring.py": "import os\nhome = os.environ['HOME']"},
        {E + "log/a.py": "from os import getenv"},
    ],
    house.modules_open_with_a_sentence: [
        {K + "a.py": "x = 1"},
        {K + "a.py": '"""events"""'},
        {K + "a.py": '"""All about events and their order"""'},
    ],
    house.paths_are_not_compared_as_strings: [
        {E + "tree/a.py": "if path.startswith('/'): ..."},
        {E + "tree/a.py": "if name.startswith(str(self.root)): ..."},
        {F + "files/a.py": "rest = entry.path.removeprefix(folder)"},
        {F + "files/a.py": "import os.path\nos.path.commonprefix([a, b])"},
    ],
    house.nothing_swallows_every_error: [
        {E + "log/a.py": "try: f()\nexcept Exception: pass"},
        {E + "log/a.py": "try: f()\nexcept: pass"},
        {K + "dispatch.py": "try: f()\nexcept (OSError, BaseException) as error: print(error)"},
        {K + "dispatch.py": "with contextlib.suppress(Exception): f()"},
    ],
    house.ports_are_narrow: [{K + "log.py": WIDE_PORT}],
    house.engines_have_a_port_and_a_contract: [
        {E + "log/memory.py": ""},
        {E + "log/memory.py": "", K + "log.py": PROTOCOL + "    pass\n"},
        {E + "log/memory.py": "", house.SRC + "testing/log_contract.py": "", K + "log.py": "class Log: ..."},
    ],
    house.tests_mirror_the_source: [
        {K + "event.py": "def f(): ...", "tests/unit/test_event.py": ""},
        {F + "files/decide.py": "class A:\n    def f(self): ..."},
    ],
    house.feature_rooms_hold_only_a_sign: [{F + "files/__init__.py": '"""Files."""\nfrom . import view'}],
    house.no_workplace_is_named: [
        {"docs/a.md": "see /" + "work/main"},
        {"requirements/run.txt": "--index-url" + " https://example.org"},
        {"README.md": "https://pypi" + ".org/simple"},
    ],
    house.only_the_merger_writes_workspaces: [
        {F + "files/decide.py": "Path('x').write_bytes(b'')"},
        {house.SRC + "cli/at.py": "open(path, 'w')"},
        {house.SRC + "cli/at.py": "path.open('ab')"},
        {house.SRC + "cli/at.py": "os.open(name, os.O_RDWR | os.O_CLOEXEC, dir_fd=folder)"},
        {house.SRC + "cli/direct/writes.py": "os.replace(a, b)"},
        {house.SRC + "wiring/repair.py": "shutil.rmtree(place)"},
        {house.SRC + "cli/direct/writes.py": "await tree.apply(steps, blobs)"},
        {F + "files/capture.py": "await self.tree.sweep()"},
    ],
    house.only_views_write_tables: [
        {F + "files/decide.py": "tables.run('DELETE FROM files', [()])"},
        {house.SRC + "cli/at.py": "sql = ' INSERT INTO files VALUES (1)'"},
        {K + "dispatch.py": "tables.script('CREATE TABLE x(y)')"},
    ],
    house.nothing_is_hard_coded: [
        {E + "model/a.py": "URL = 'https://api.example.com/v1'"},
        {E + "model/a.py": "HOST = '127.0.0.1'"},
        {house.SRC + "wiring.py": "home = f'/home/{user}'"},
        {F + "runs/a.py": "RUN = '01900000-0000-7000-8000-000000000001'"},
    ],
    house.what_a_project_needs_is_there: [dict.fromkeys(house.REQUIRED - {"LICENSE"}, "")],
}
# What a rule must let pass, because it is right.
ALLOWED: dict[Rule, list[Texts]] = {
    house.nothing_swallows_every_error: [
        {E + "log/a.py": "try: f()\nexcept BaseException:\n    undo()\n    raise"},
        {K + "reactor.py": "try: f()\nexcept Exception as error: record(error)"},
    ],
    house.modules_open_with_a_sentence: [
        {K + "a.py": '"""What happened, in order."""'},
        {house.SRC + "cli/a.py": '"""choir at: look at a state of the past."""'},
    ],
    house.only_the_merger_writes_workspaces: [
        {E + "tree/disk/change.py": "os.mkdir(name, dir_fd=folder)"},
        {F + "files/react.py": "await tree.apply(steps, blobs)"},
        {house.SRC + "cli/at.py": "open(path, 'rb')\nos.open(path, os.O_RDONLY)\ntext.replace('a', 'b')"},
    ],
    house.only_views_write_tables: [{F + "files/view.py": "tables.run('DELETE FROM files', [()])"}],
    house.nothing_is_hard_coded: [
        {K + "a.py": '"""See https://example.org."""\nFORM = "https://"\nPROC = "/proc/self"'}
    ],
    house.paths_are_not_compared_as_strings: [{F + "audit/a.py": "event_type.startswith('file.')"}],
    house.engines_have_a_port_and_a_contract: [
        {E + "log/a.py": "", K + "log.py": PROTOCOL + "    x: int", house.SRC + "testing/log_contract.py": ""}
    ],
    house.tests_mirror_the_source: [
        {K + "log.py": PROTOCOL + "    def head(self): ..."},
        {F + "files/events.py": "class FileWritten: ..."},
        {K + "event.py": "def f(): ...", "tests/unit/kernel/test_event.py": ""},
    ],
    house.time_and_chance_come_from_ports: [{E + "clock/system.py": "import time\nnow = time.time_ns()"}],
}

RULES = [*PLANTED]


def planted(cases: dict[Rule, list[Texts]]) -> list[object]:
    return [
        pytest.param(rule, texts, id=f"{rule.__name__}-{number}")
        for rule, several in cases.items()
        for number, texts in enumerate(several, 1)
    ]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_checkout_keeps_the_rule(rule: Rule) -> None:
    complaints = [*rule(checkout())]
    assert not complaints, "\n".join(complaints)


@pytest.mark.parametrize(("rule", "texts"), planted(PLANTED))
def test_the_rule_finds_its_planted_violation(rule: Rule, texts: Texts) -> None:
    assert list(rule(texts))


@pytest.mark.parametrize(("rule", "texts"), planted(ALLOWED))
def test_the_rule_lets_pass_what_is_right(rule: Rule, texts: Texts) -> None:
    assert list(rule(texts)) == []


def test_every_rule_of_the_house_is_applied() -> None:
    defined = {value for value in vars(house).values() if getattr(value, "__annotations__", {}) == RULE_SHAPE}
    assert defined == set(RULES)


RULE_SHAPE = house.files_are_short.__annotations__


def test_the_project_is_really_read() -> None:
    texts = checkout()
    assert {"pyproject.toml", "choir", ".ci/run", "src/choiros/__init__.py", "tests/house.py"} <= set(texts)
    assert not [path for path in texts if path.startswith((".venv", ".git/", ".choir-tools"))]


def test_every_exception_of_the_mirror_rule_still_exists() -> None:
    for place in house.TESTED_ELSEWHERE:
        assert any(path.startswith(place) for path in checkout()), place
