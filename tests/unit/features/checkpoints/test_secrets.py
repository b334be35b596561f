"""Every canary is put together here, so that no file holds anything that a scanner would report."""

import time

import pytest

from choiros.features.checkpoints.secrets import FINDINGS_MAX, SecretFinding, find_secrets

MIXED = "q7Zt2mXv9Lp4Rk8Wc3Bn6Hd1Js5Gf0TyAeUiOo2Qw8Er4Ty6Ui1Op3As5Df7Gh9Jk2Lz4Xc6Vb8Nm1Qa3Ws5Ed7Rf9Tg"
UPPER = "Q7ZT2MXV9LP4RK8WC3BN6HD1JS5GF0TYAEUIOO2QW8ER4TY6UI1OP3AS5DF7GH9JK2LZ4XC6VB8NM1QA3WS5"
HEX = "7f3a9c1e5b8d2f604c6e8a0b2d4f6178" * 2
BODY = "\n".join(MIXED[:64] for _ in range(3))


def kinds(text: str, path: str = "notes.md") -> list[str]:
    return [finding.kind for finding in find_secrets(path, text.encode())]


CANARIES = [
    ("aws_access_key", "AK" + "IA" + UPPER[:16]),
    ("aws_access_key", "AS" + "IA" + UPPER[:16]),
    ("github_token", "gh" + "p_" + MIXED[:36]),
    ("github_token", "gh" + "s_" + MIXED[:36]),
    ("github_token", "github" + "_pat_" + MIXED[:22] + "_" + MIXED[:59]),
    ("gitlab_token", "gl" + "pat-" + MIXED[:20]),
    ("slack_token", "xo" + "xb-" + "294857201938-" + MIXED[:24]),
    ("slack_token", "xa" + "pp-1-" + UPPER[:40]),
    (
        "slack_webhook",
        "https://hooks." + "slack.com/services/" + "T" + UPPER[:9] + "/B" + UPPER[:9] + "/" + MIXED[:24],
    ),
    ("stripe_key", "sk" + "_live_" + MIXED[:24]),
    ("stripe_key", "rk" + "_test_" + MIXED[:24]),
    ("stripe_key", "wh" + "sec_" + MIXED[:32]),
    ("google_key", "AI" + "za" + MIXED[:35]),
    ("google_key", "GOC" + "SPX-" + MIXED[:28]),
    ("anthropic_key", "sk-" + "ant-api03-" + MIXED[:90]),
    ("openai_key", "sk-" + "proj-" + MIXED[:80]),
    ("openai_key", "sk-" + MIXED[:48]),
    ("npm_token", "np" + "m_" + MIXED[:36]),
    ("pypi_token", "py" + "pi-AgEI" + MIXED[:90]),
    ("huggingface_token", "h" + "f_" + MIXED[:34]),
    ("sendgrid_key", "S" + "G." + MIXED[:22] + "." + MIXED[:43]),
    ("telegram_token", "294857201:" + "AA" + MIXED[:33]),
    ("docker_token", "dckr" + "_pat_" + MIXED[:27]),
    ("digitalocean_token", "do" + "p_v1_" + HEX),
    ("vault_token", "hv" + "s." + MIXED[:24]),
    ("age_key", "AGE-SECRET-" + "KEY-1" + UPPER[:58]),
    ("json_web_token", "ey" + "J" + MIXED[:30] + ".ey" + "J" + MIXED[:40] + "." + MIXED[:43]),
    ("url_password", "postgres://app:" + MIXED[:9] + "@db.internal/app"),
    ("url_password", "postgres://app:" + "p@" + MIXED[:9] + "@db.internal/app"),
    ("private_key", "-----BEGIN " + "PRIVATE KEY-----\n" + BODY),
    ("private_key", "-----BEGIN RSA " + "PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n" + BODY),
    ("private_key", "-----BEGIN OPENSSH " + "PRIVATE KEY-----\\n" + MIXED[:64] + "\\n"),
    ("private_key", "-----BEGIN PGP " + "PRIVATE KEY BLOCK-----\n\n" + BODY),
    ("assigned_secret", "pass" + f'word = "{MIXED[:14]}"'),
    ("assigned_secret", "DB_PASS" + f"WORD={MIXED[:16]}"),
    ("assigned_secret", '"client_' + f'secret": "{HEX[:32]}"'),
    ("assigned_secret", "api-" + f"key: {MIXED[:24]}"),
    ("assigned_secret", "config['to" + f"ken'] = '{MIXED[:20]}'"),
    ("private_key", "---- BEGIN SSH2 ENCRYPTED " + "PRIVATE KEY ----\nComment: me\n" + BODY),
    ("private_key", "LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQ" + MIXED + MIXED[:40]),
    ("assigned_secret", "<pass" + f"word>{MIXED[:16]}</password>"),
    ("bearer_token", "Authorization: " + "Bearer " + MIXED[:40]),
    ("encoded_password", "Authorization: " + "Basic " + "bWU6cTdadDJtWHY5THA0Ums4V2M="),
    ("encoded_password", '"ghcr.io": {"au' + 'th": "' + 'bWU6cTdadDJtWHY5THA0Ums4V2M="}'),
    ("netrc_password", "machine api.example.org login me pass" + f"word {MIXED[:16]}"),
    (
        "assigned_secret",
        "//registry.example.org/:_auth" + f"Token={HEX[:8]}-{HEX[8:12]}-{HEX[12:16]}-{HEX[16:28]}",
    ),
    ("assigned_secret", "aws_secret_" + f"access_key = {MIXED[:20]}/{MIXED[20:39]}"),
]


@pytest.mark.parametrize(("kind", "canary"), CANARIES)
def test_a_well_known_secret_is_found_wherever_it_stands(kind: str, canary: str) -> None:
    assert kinds(canary) == [kind]
    assert kinds(f"first line\n  key: '{canary}',\n") == [kind]
    assert [finding.line for finding in find_secrets("x", f"a\nb\n{canary}\n".encode())] == [3]


@pytest.mark.parametrize(("kind", "canary"), CANARIES)
def test_a_finding_never_repeats_the_secret(kind: str, canary: str) -> None:
    assert canary[10:20] not in repr(find_secrets("x", canary.encode()))
    assert kind in repr(find_secrets("x", canary.encode()))


@pytest.mark.parametrize(
    "text",
    [
        "AK" + "IA" + "IOSFODNN7EXAMPLE",
        "gh" + "p_" + "x" * 36,
        "gh" + "p_" + "1234567890" * 4,
        "sk-" + "ant-your-key-goes-here-and-it-is-long-enough",
        "a" + "gh" + "p_" + MIXED[:36],
        "gh" + "p_" + MIXED[:20],
        "password = 'change-me-1A2b3C4d'",
        "password = '${DB_PASSWORD_1a2B}'",
        "password = '{{ vault.Db1.pA55 }}'",
        "password: <your-Password-1a2B3c>",
        "password = 'correct horse battery staple'",
        "password = os.environ['DB_PASSWORD_1']",
        "password = getpass.getpass(a1B2c3D4)",
        "token = request.headers.get_token_v2",
        "token: oauth2_access_token_v1",
        "token = '2024-01-02T10:00:00'",
        "max_tokens = 128000128000",
        "token_url = 'aB3dE5fG7hJ9kL1m'",
        "secret_name = 'aB3dE5fG7hJ9kL1m'",
        "password = 'short1A'",
        "password = '********************'",
        "postgres://postgres:postgres@localhost/app",
        "postgres://app:${PASSWORD}@db/app",
        "postgres://app:<password>@db/app",
        "http://host:8080/path@x",
        "git clone https://github.com/a/b",
        "Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==",
        "Authorization: Bearer your_access_token_goes_here",
        "machine host login me password mypassword",
        "localhost:5432:app:me:the_password_here",
        "A file that starts with -----BEGIN " + "PRIVATE KEY----- is a key.",
        "-----BEGIN CERTIFICATE-----\n" + BODY,
        "integrity: sha512-" + MIXED[:86] + "==",
        "",
    ],
)
def test_placeholders_words_and_code_are_not_reported(text: str) -> None:
    assert kinds(text) == []


def test_a_key_store_is_found_by_its_name() -> None:
    assert find_secrets("certs/me.P12", b"\x30\x82") == [SecretFinding("key_file", 1)]
    assert find_secrets("certs/me.p12", b"") == []


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-be"])
@pytest.mark.parametrize("before", [b"", b"\xff"])
def test_a_secret_in_wide_letters_is_found_with_a_mark_at_the_beginning_or_without(
    encoding: str, before: bytes
) -> None:
    text = "first\n" + "gh" + "p_" + MIXED[:36] + "\nlast\n"
    assert find_secrets("x", before + text.encode(encoding)) == [SecretFinding("github_token", 2)]


@pytest.mark.parametrize(
    ("path", "text", "kind"),
    [
        ("home/.netrc", "machine a.example\n  login me\n  pass" + "word simple\n", "netrc_password"),
        ("_netrc", "machine a.example login me pass" + "word simple\n", "netrc_password"),
        (".pgpass", "db.example.org:5432:app:me:simple\n", "pgpass_password"),
        ("notes.md", f"db.example.org:5432:app:me:{MIXED[:14]}\r\n", "pgpass_password"),
    ],
)
def test_a_password_in_a_sign_in_file_is_found_even_if_it_is_a_word(path: str, text: str, kind: str) -> None:
    """C-29."""
    assert kinds(text, path) == [kind]


def test_a_secret_between_bytes_that_are_not_text_is_found() -> None:
    content = b"\x00\xff\n" + b"gh" + b"p_" + MIXED[:36].encode() + b"\x00"
    assert find_secrets("x", content) == [SecretFinding("github_token", 2)]


def test_findings_come_in_the_order_of_lines_and_once_per_line() -> None:
    token = "gh" + "p_" + MIXED[:36]
    text = "pass" + f"word = '{MIXED[:14]}'\n{token} {token}\n" + "AK" + "IA" + UPPER[:16]
    assert find_secrets("x", text.encode()) == [
        SecretFinding("assigned_secret", 1),
        SecretFinding("github_token", 2),
        SecretFinding("aws_access_key", 3),
    ]


def test_many_findings_are_told_up_to_a_bound() -> None:
    text = "\n".join("gh" + "p_" + MIXED[:36] for _ in range(FINDINGS_MAX + 50))
    assert len(find_secrets("x", text.encode())) == FINDINGS_MAX


@pytest.mark.parametrize(
    "unit",
    [
        *(
            "a",
            " ",
            "\n",
            "=",
            "eyJ",
            "eyJaaaaaaaaaaaa.",
            "://",
            "://a:",
            "sk-",
            "gh" + "p_",
            "xoxb-",
            "1:AA",
            "hf_",
            "bearer ",
            "basic a",
            "machine a ",
            "a:1:",
            "a\x00",
            "sig=%2F",
            "://a:@",
            "LS0tLS1CRUdJTi",
            '"kty" "d":"',
        ),
        *(
            "token=",
            'token="',
            "token='<",
            "-----BEGIN ",
            "-----BEGIN " + "PRIVATE KEY-----",
            "aws_secret",
            "pypi-",
        ),
        "password: a1B2",
    ],
)
def test_no_long_line_is_expensive(unit: str) -> None:
    content = (unit * (1_000_000 // len(unit))).encode()
    start = time.process_time()
    find_secrets("x", content)
    assert time.process_time() - start < 3  # measured: up to 0.3 s
