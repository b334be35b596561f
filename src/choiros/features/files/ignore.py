"""What is left out: of the log because it can be made again, and of git commits because it must not leave.

A path that is left out of the log cannot be undone. So the list for the log names only what a program makes
again, by names that nobody gives to anything else; in doubt a path is logged. For commits it is the other way
round: what is left out is still in the log, and what a commit holds can never be taken back.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

from choiros.features.files.pattern import Pattern, PatternError, parse
from choiros.kernel.errors import Rejected

DEFAULTS = """
# The memory of version control. Programs change it in several files at once; half an undo would break it.
.git
.hg/
.svn/
.jj/

# Installed packages and environments.
node_modules
bower_components/
.venv
venv/
__pypackages__/
.pnpm-store/
.direnv/
**/.terraform/providers/

# Caches and build output with names that mean nothing else. Names such as build/, dist/, bin/, out/ and
# target/ are also given to folders that people fill by hand; of target/ only what Cargo puts there is left
# out.
__pycache__/
.pytest_cache/
.mypy_cache/
.ruff_cache/
.hypothesis/
.tox/
.nox/
.gradle/
.cache/
.parcel-cache/
.sass-cache/
.turbo/
.next/
.nuxt/
.svelte-kit/
**/.angular/cache/
.dart_tool/
.stack-work/
.zig-cache/
**/target/debug/.fingerprint/
**/target/debug/build/
**/target/debug/deps/
**/target/debug/incremental/
**/target/release/.fingerprint/
**/target/release/build/
**/target/release/deps/
**/target/release/incremental/

# What editors, desktops and file systems put down for a moment.
.*.sw[nopx]
.sw[nopx]
.#*
.~lock.*#
~$*.doc*
~$*.ppt*
~$*.xls*
.goutputstream-*
.fuse_hidden*
.nfs0*
.DS_Store
"""
"""Left out of the log.

Kept in it, though editors make them: `*~` and `#*#` hold a person's words, and a file called 4913, as vim
makes one for an instant, may be the 4913th of a collection.
"""

CHECKPOINT_DEFAULTS = """
# Secrets. What can be seen in .env.example is meant to be seen.
.env
.env.*
!.env.example
!.env.sample
!.env.template
!.env.dist
*.pem
*.key
*.p12
*.pfx
*.jks
*.keystore
*.ppk
*.kdbx
id_rsa*
id_dsa*
id_ecdsa*
id_ed25519*
!id_*.pub
.netrc
_netrc
.npmrc
.pypirc
.pgpass
.my.cnf
.htpasswd
.git-credentials
.vault-token
.aws/
.gnupg/
.ssh/
**/.docker/config.json
**/.kube/config
kubeconfig
credentials
!credentials/
credentials.csv
credentials.ini
credentials.json
credentials.toml
credentials.xml
credentials.yaml
credentials.yml
client_secret*.json
service-account*.json
service_account*.json
secrets.json
secrets.toml
secrets.yaml
secrets.yml
*.tfstate
*.tfstate.*
*.tfvars
!example.tfvars

# What programs write while they run.
*.log
*.log.[0-9]*
logs/
*.pid

# Databases and what lies beside them while they are open.
*.db
*.db-*
*.sqlite
*.sqlite-*
*.sqlite3
*.sqlite3-*
*.duckdb
*.mdb
*.rdb

# Copies that editors make.
*~
#*#
"""
"""Left out of git commits in addition to DEFAULTS, however it is spelt (`.ENV`); all of it is in the log."""

LINES_MAX = 5000
DIRECTORIES_MAX = 50_000
"""So many directories are remembered before the memory of them is cleared."""

_SHOWN_MAX = 100


class Ignore:
    """The rules of one workspace: the lines of its ignore file, after those that hold everywhere.

    A later line wins over an earlier one, so a person can take back a default (`!venv/`). As in git, nothing
    below a directory that is left out can be taken back.
    """

    def __init__(self, lines: str, *, defaults: bool = True, checkpoint: bool = False) -> None:
        """Read the lines; `checkpoint` adds what is left out of git commits.

        Raises Rejected (`ignore.bad_pattern`, `ignore.too_long`), with the number of the line.
        """
        rules = [
            *(_Rule(pattern) for pattern in (_read(DEFAULTS) if defaults else ())),
            *(
                _Rule(pattern, any_case=True)
                for pattern in (_read(CHECKPOINT_DEFAULTS) if checkpoint else ())
            ),
            *(_Rule(pattern) for pattern in _read(lines)),
        ]
        patterns = [rule.pattern for rule in rules]
        self._rules = rules[::-1]
        self._any_case = checkpoint
        self._names = {pattern.name for pattern in patterns}
        self._directories: dict[str, bool] = {"": False}
        starred = [pattern for pattern in patterns if pattern.name is None]
        self._ends = tuple({pattern.end for pattern in starred if pattern.end})
        self._starts = tuple({pattern.start for pattern in starred if pattern.start and not pattern.end})
        others = [pattern for pattern in starred if not pattern.start and not pattern.end]

        self._others = re.compile(
            "|".join(".*" if pattern.whole else pattern.regex for pattern in others), re.DOTALL
        )

    def matches(self, path: str, is_directory: bool) -> bool:  # noqa: FBT001 - as the tree port calls it
        """Return whether the path is left out, itself or with a directory above it."""
        above, _, name = path.rpartition("/")
        left_out = self._directories.get(above)
        if left_out is None:
            left_out = self._is_directory_out(above)
        return left_out or self._says(path, name, is_directory=is_directory)

    def _is_directory_out(self, path: str) -> bool:
        """Return whether a directory is left out, from the outermost one down, and remember it."""
        if len(self._directories) > DIRECTORIES_MAX:
            self._directories = {"": False}
        above, left_out = "", False
        for name in path.split("/"):
            directory = f"{above}/{name}" if above else name
            known = self._directories.get(directory)
            left_out = left_out or (
                self._says(directory, name, is_directory=True) if known is None else known
            )
            self._directories[directory] = left_out
            above = directory
        return left_out

    def _says(self, path: str, name: str, *, is_directory: bool) -> bool:
        """Return what the last rule about this very path says; no rule leaves it in."""
        if not (self._may_say(name) or (self._any_case and self._may_say(name.lower()))):
            return False
        for rule in self._rules:
            if rule.fits(path, name, is_directory=is_directory):
                return not rule.negated
        return False

    def _may_say(self, name: str) -> bool:
        """Return False when surely no rule fits a path with this last name: the quick way for most paths."""
        return (
            name in self._names
            or name.endswith(self._ends)
            or name.startswith(self._starts)
            or self._others.fullmatch(name) is not None
        )


class _Rule:
    """A pattern that is ready to be asked."""

    def __init__(self, pattern: Pattern, *, any_case: bool = False) -> None:
        self.negated = pattern.negated
        self.pattern = pattern
        self._any_case = any_case

    def fits(self, path: str, name: str, *, is_directory: bool) -> bool:
        if self._any_case:
            path, name = path.lower(), name.lower()
        pattern = self.pattern
        if pattern.directory_only and not is_directory:
            return False
        if pattern.name is not None and (name != pattern.name or not pattern.whole):
            return name == pattern.name
        return self._regex.fullmatch(path if pattern.whole else name) is not None

    @cached_property
    def _regex(self) -> re.Pattern[str]:
        return re.compile(self.pattern.regex, re.DOTALL)


def _read(text: str) -> Iterator[Pattern]:
    lines = text.removeprefix("\ufeff").split("\n")
    if len(lines) > LINES_MAX:
        raise Rejected(
            "ignore.too_long",
            f"The ignore rules have {len(lines)} lines; up to {LINES_MAX} are read.",
            fix="Join the rules, for instance with a '*'.",
            lines=len(lines),
        )
    for number, line in enumerate(lines, 1):
        try:
            pattern = parse(line.removesuffix("\r"))
        except PatternError as error:
            raise _bad_pattern(number, line, reason=str(error)) from error
        if pattern is not None:
            yield pattern


def _bad_pattern(number: int, line: str, *, reason: str) -> Rejected:
    shown = ascii(line if len(line) <= _SHOWN_MAX else line[:_SHOWN_MAX] + "...")
    return Rejected(
        "ignore.bad_pattern",
        f"Line {number} of the ignore rules, {shown}, {ascii(reason)[1:-1]}.",
        fix="Correct the line; the rules are those of a .gitignore, where '#' starts a comment.",
        line=number,
        pattern=shown,
    )
