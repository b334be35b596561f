"""What the parser and the page of a verb are made of."""

from choiros.cli.arguments import Parser
from choiros.cli.exits import DONE
from choiros.cli.verb import Verb, build


def declare(parser: Parser) -> None:
    parser.add_argument("what", metavar="WHAT", help="what is meant")


LEAF = Verb("Do one thing.", ("choir do x", "choir do y"), lambda _: DONE, declare)
FAMILY = Verb(
    "Do many things.", ("choir do", "choir do one"), lambda _: DONE, acts={"one": LEAF}, default_act="one"
)


def test_a_page_tells_arguments_examples_and_exit_codes() -> None:
    page = build(LEAF, "choir do").format_help()
    for part in ("usage: choir do [-h] WHAT", "Do one thing.", "what is meant", "choir do y", "exit codes:"):
        assert part in page
    assert "whose computer is meant" not in page


def test_options_of_every_verb_can_be_made_visible() -> None:
    assert "whose computer is meant" in build(LEAF, "choir do", visible=True).format_help()


def test_a_family_lists_its_acts() -> None:
    page = build(FAMILY, "choir do").format_help()
    assert "one" in page
    assert "Do one thing." in page
    assert vars(build(FAMILY, "choir do").parse_args(["one", "x"]))["what"] == "x"
