"""choir completion."""

import json
import shutil
import subprocess

import pytest

from choiros.cli.completion import script_for
from tests.unit.cli.fake_client import choir


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_the_script_knows_verbs_acts_and_options(shell: str) -> None:
    script = script_for(shell)
    for word in ("checkpoints", "restore", "--follow", "--workspace", "rename"):
        assert word in script


def test_bash_completes_a_verb_and_an_option() -> None:
    bash = shutil.which("bash")
    assert bash is not None
    program = script_for("bash") + (
        "\nCOMP_WORDS=(choir lo); COMP_CWORD=1; _shtab_choir; echo verbs: ${COMPREPLY[@]}"
        "\nCOMP_WORDS=(choir log --fol); COMP_CWORD=2; _shtab_choir; echo options: ${COMPREPLY[@]}"
        "\nCOMP_WORDS=(choir --js); COMP_CWORD=1; _shtab_choir; echo front: ${COMPREPLY[@]}"
        "\nCOMP_WORDS=(choir --user me lo); COMP_CWORD=3; _shtab_choir; echo behind: ${COMPREPLY[@]}"
        "\nCOMP_WORDS=(choir workspaces re); COMP_CWORD=2; _shtab_choir; echo acts: ${COMPREPLY[@]}"
    )
    done = subprocess.run([bash, "-c", program], capture_output=True, text=True, check=False)
    assert "verbs: log\n" in done.stdout, done.stderr
    assert "options: --follow\n" in done.stdout
    assert "acts: rename\n" in done.stdout
    assert "front: --json\n" in done.stdout
    assert "behind: log\n" in done.stdout


def test_another_shell_is_refused() -> None:
    outcome = choir("completion", "bsh")
    assert outcome.code == 2
    assert "did you mean 'bash'?" in outcome.err
    assert json.loads(choir("completion", "zsh", "--json").out)["shell"] == "zsh"
