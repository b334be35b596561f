"""The suite sees every mistake on the list of planted faults; one that it does not see is a gap in the tests."""

from pathlib import Path

import pytest

from tests.checkout import ROOT, checkout
from tests.conftest import SOAK
from tests.faults.planting import Fault, copy_of_the_package, failing, faults, plant, planted

FAULTS = faults()
CHOSEN = {name: fault for name, fault in FAULTS.items() if SOAK or fault.always}
SUITES = [path for path in checkout() if path.startswith("src/choiros/testing/")]
ALL_S = 900 if SOAK else 110
EACH = pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
ROOMS = ("kernel", "engines/log", "engines/blob", "engines/tree", "features/files", "features/undo", "wiring")


@EACH
def test_a_fault_still_fits_the_code_and_names_tests_that_exist(fault: Fault) -> None:
    text = (ROOT / fault.file).read_text(encoding="utf-8")
    compile(planted(text, fault), fault.file, "exec")
    assert fault.says.endswith(".")
    assert fault.tests
    for test in fault.tests:
        file, *_, name = test.split("::")
        # A test of a contract suite is inherited from there.
        assert any(f"def {name}(" in text for path, text in checkout().items() if path in {file, *SUITES}), (
            test
        )


@pytest.mark.parametrize("fault", CHOSEN.values(), ids=CHOSEN)
def test_a_planted_fault_is_seen_by_every_test_that_is_named(fault: Fault, tmp_path: Path) -> None:
    copy_of_the_package(tmp_path)
    plant(tmp_path, fault)
    failed, told = failing(tmp_path, fault.tests)
    assert set(fault.tests) - failed == set(), told


@pytest.mark.timeout(ALL_S + 10)
def test_without_a_fault_the_named_tests_pass(tmp_path: Path) -> None:
    copy_of_the_package(tmp_path)
    named = sorted({test for fault in CHOSEN.values() for test in fault.tests})
    failed, told = failing(tmp_path, named, timeout_s=ALL_S)
    assert failed == set(), told


@pytest.mark.parametrize("room", ROOMS)
def test_every_room_that_keeps_a_promise_about_data_has_planted_faults(room: str) -> None:
    here = [fault for fault in FAULTS.values() if fault.file.startswith(f"src/choiros/{room}")]
    assert len(here) >= 10
