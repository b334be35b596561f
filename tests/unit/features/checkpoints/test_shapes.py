"""The shapes of well-known secrets; every canary is put together here, so that no scanner reports this file."""

import pytest

from choiros.features.checkpoints.secrets import find_secrets
from choiros.features.checkpoints.shapes import SHAPES
from tests.unit.features.checkpoints.test_secrets import CANARIES as OTHERS

MIXED = "q7Zt2mXv9Lp4Rk8Wc3Bn6Hd1Js5Gf0TyAeUiOo2Qw8Er4Ty6Ui1Op3As5Df7Gh9Jk2Lz4Xc6Vb8Nm1Qa3Ws5Ed7Rf9Tg" * 3
UPPER = "Q7ZT2MXV9LP4RK8WC3BN6HD1JS5GF0TYAEUIOO2QW8ER4TY6UI1OP3AS5DF7GH9JK2LZ4XC6VB8NM1QA3WS5"
HEX = "7f3a9c1e5b8d2f604c6e8a0b2d4f6178" * 2

CANARIES = [
    ("aws_bedrock_key", "AB" + "SK" + MIXED[:120]),
    ("aws_mws_key", "amzn" + f".mws.{HEX[:8]}-{HEX[:4]}-{HEX[4:8]}-{HEX[8:12]}-{HEX[:12]}"),
    ("azure_client_secret", MIXED[:3] + "8" + "Q~" + MIXED[:34]),
    ("azure_devops_token", MIXED[:76] + "AZ" + "DO" + MIXED[:4]),
    ("azure_signature", "https://x.blob.core.windows.net/c?sp=rl&" + "sig=" + MIXED[:40] + "%2F9a%3D"),
    ("google_key", "AQ" + ".Ab" + MIXED[:48]),
    ("google_token", "ya" + "29." + MIXED[:120]),
    ("google_token", "1/" + "/0" + MIXED[:60]),
    ("alibaba_key", "LTAI" + "5t" + MIXED[:18]),
    ("heroku_key", "HRKU" + "-AA" + MIXED[:58]),
    ("fly_token", "fm" + "2_" + MIXED[:100]),
    ("terraform_token", MIXED[:14] + ".atlas" + "v1." + MIXED[:67]),
    ("gitlab_token", "gl" + "ft-" + MIXED[:20]),
    ("gitlab_token", "gl" + "agent-" + MIXED[:50]),
    ("gitlab_token", "gl" + "pat-" + MIXED[:27] + ".01." + MIXED[:9]),
    ("gitlab_token", "GR13" + "48941" + MIXED[:20]),
    ("bitbucket_token", "AT" + "BB" + MIXED[:32]),
    ("atlassian_token", "ATAT" + "T3xFfGF0" + MIXED[:180]),
    ("rubygems_key", "ruby" + "gems_" + HEX[:48]),
    ("figma_token", "fi" + "gd_" + MIXED[:40]),
    ("linear_key", "lin" + "_api_" + MIXED[:40]),
    ("notion_token", "nt" + "n_" + MIXED[:46]),
    ("postman_key", "PM" + "AK-" + HEX[:24] + "-" + HEX[:34]),
    ("sentry_token", "sntr" + "yu_" + HEX),
    ("grafana_token", "gl" + "sa_" + MIXED[:32] + "_" + HEX[:8]),
    ("grafana_token", "gl" + "c_" + MIXED[:80]),
    ("newrelic_key", "NR" + "AK-" + UPPER[:27]),
    ("databricks_token", "da" + "pi" + HEX[:32]),
    ("planetscale_password", "pscale" + "_pw_" + MIXED[:43]),
    ("supabase_token", "sb" + "p_" + HEX[:40]),
    ("tailscale_key", "ts" + "key-auth-" + MIXED[:12] + "-" + MIXED[:32]),
    ("doppler_token", "dp" + ".pt." + MIXED[:43]),
    ("openai_key", "sk-" + "svcacct-" + MIXED[:58] + "T3BlbkFJ" + MIXED[:58]),
    ("groq_key", "gs" + "k_" + MIXED[:52]),
    ("replicate_token", "r" + "8_" + MIXED[:37]),
    ("xai_key", "xa" + "i-" + MIXED[:80]),
    ("perplexity_key", "pp" + "lx-" + MIXED[:48]),
    ("slack_token", "xo" + "xe.xo" + "xp-1-" + MIXED[:160]),
    (
        "slack_webhook",
        "https://hooks." + f"slack.com/workflows/T{UPPER[:9]}/A{UPPER[:9]}/294857201938472/{MIXED[:24]}",
    ),
    ("discord_webhook", "https://discord" + ".com/api/webhooks/294857201938472918/" + MIXED[:68]),
    ("twilio_key", "S" + "K" + HEX[:32]),
    ("mailgun_key", "ke" + "y-" + HEX[:32]),
    ("shopify_token", "shp" + "at_" + HEX[:32]),
    ("square_key", "sq0" + "csp-" + MIXED[:43]),
    ("json_web_key", '{"kty": "EC", "' + 'd": "' + MIXED[:43] + '"}'),
    ("private_key", "PuTTY-User-Key-File-3: ssh-ed25519\nPrivate-" + "Lines: 1\n" + MIXED[:48]),
]


@pytest.mark.parametrize(("kind", "canary"), CANARIES)
def test_a_well_known_secret_is_found_and_nothing_else(kind: str, canary: str) -> None:
    """C-29."""
    assert [finding.kind for finding in find_secrets("notes.md", f"first\n '{canary}',\n".encode())] == [kind]


@pytest.mark.parametrize(
    "text",
    [
        "gl" + "oss-" + MIXED[:40],
        "sig=" + MIXED[:30],
        "S" + "K" + HEX[:20],
        "https://a:8080/b@c",
        '{"d": "x"}',
    ],
)
def test_what_is_only_alike_is_not_reported(text: str) -> None:
    assert find_secrets("notes.md", text.encode()) == []


def test_every_shape_has_a_canary() -> None:
    assert {shape.kind for shape in SHAPES} <= {kind for kind, _ in [*CANARIES, *OTHERS]}
