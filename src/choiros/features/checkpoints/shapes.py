"""How well-known kinds of secrets look: each names itself by a part that hardly anything else has."""

from __future__ import annotations

import re
from typing import NamedTuple


class Shape(NamedTuple):
    """How a kind of secret looks; without one of the `marks` it cannot be there, which is quick to see."""

    kind: str
    marks: tuple[bytes, ...]
    regex: re.Pattern[bytes]


def _shape(kind: str, marks: str, *, regex: str) -> Shape:
    """Return the shape of a token that stands for itself, not as a part of a longer word."""
    bounded = rb"(?<![A-Za-z0-9_])(?P<secret>" + regex.encode() + rb")(?![A-Za-z0-9_])"
    return Shape(kind, tuple(mark.encode() for mark in marks.split()), re.compile(bounded))


_CLOUDS = (
    _shape("aws_access_key", "AKIA ASIA", regex=r"A[KS]IA[A-Z0-9]{16}"),
    _shape("aws_bedrock_key", "ABSK", regex=r"ABSK[A-Za-z0-9+/]{109,269}+={0,2}+"),
    _shape("aws_mws_key", "amzn.mws.", regex=r"amzn\.mws\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
    _shape("azure_client_secret", "Q~", regex=r"[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}+"),
    _shape("azure_devops_token", "AZDO", regex=r"[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}"),
    _shape(
        "azure_signature", "sig=", regex=r"sig=(?:[A-Za-z0-9]|%(?!3[Dd])[0-9A-Fa-f]{2}){40,60}+(?:%3[Dd]|=)"
    ),
    _shape("google_key", "AIza", regex=r"AIza[A-Za-z0-9_-]{35}"),
    _shape("google_key", "GOCSPX-", regex=r"GOCSPX-[A-Za-z0-9_-]{28}"),
    _shape("google_key", "AQ.Ab", regex=r"AQ\.Ab[A-Za-z0-9_-]{40,100}+"),
    _shape("google_token", "ya29.", regex=r"ya29\.[A-Za-z0-9_-]{40,2000}+"),
    _shape("google_token", "1//0", regex=r"1//0[A-Za-z0-9_-]{40,300}+"),
    _shape("alibaba_key", "LTAI5t", regex=r"LTAI5t[A-Za-z0-9]{18}"),
    _shape("digitalocean_token", "dop_v1_ doo_v1_ dor_v1_", regex=r"do[opr]_v1_[a-f0-9]{64}"),
    _shape("heroku_key", "HRKU-AA", regex=r"HRKU-AA[A-Za-z0-9_-]{50,100}+"),
    _shape("fly_token", "fm2_", regex=r"fm2_[A-Za-z0-9+/_-]{60,2000}+={0,3}+"),
    _shape("terraform_token", ".atlasv1.", regex=r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,100}+"),
)
_CODE = (
    _shape("github_token", "ghp_ gho_ ghu_ ghs_ ghr_", regex=r"gh[pousr]_[A-Za-z0-9]{36,255}+"),
    _shape("github_token", "github_pat_", regex=r"github_pat_[A-Za-z0-9_]{60,255}+"),
    _shape(
        "gitlab_token",
        "glpat- gldt- glrt- glptt- glcbt- glft- glimt- glagent- gloas- glsoat- glffct-",
        regex=r"gl(?:pat|dt|rt|ptt|cbt|ft|imt|agent|oas|soat|ffct)-[A-Za-z0-9_.-]{20,255}+",
    ),
    _shape("gitlab_token", "GR1348941", regex=r"GR1348941[A-Za-z0-9_-]{20}"),
    _shape("bitbucket_token", "ATBB", regex=r"ATBB[A-Za-z0-9]{32}"),
    _shape("atlassian_token", "ATATT3", regex=r"ATATT3[A-Za-z0-9_=-]{100,300}+"),
    _shape("npm_token", "npm_", regex=r"npm_[A-Za-z0-9]{36}"),
    _shape("pypi_token", "pypi-", regex=r"pypi-[A-Za-z0-9_-]{60,1000}+"),
    _shape("rubygems_key", "rubygems_", regex=r"rubygems_[a-f0-9]{48}"),
    _shape("docker_token", "dckr_pat_", regex=r"dckr_pat_[A-Za-z0-9_-]{20,100}+"),
    _shape("huggingface_token", "hf_", regex=r"hf_[A-Za-z0-9]{34}"),
    _shape("figma_token", "figd_", regex=r"figd_[A-Za-z0-9_-]{36,100}+"),
    _shape("linear_key", "lin_api_", regex=r"lin_api_[A-Za-z0-9]{40}"),
    _shape("notion_token", "ntn_", regex=r"ntn_[A-Za-z0-9]{40,60}+"),
    _shape("postman_key", "PMAK-", regex=r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}"),
    _shape("sentry_token", "sntrys_ sntryu_", regex=r"sntry[su]_[A-Za-z0-9+/=_-]{60,600}+"),
    _shape("grafana_token", "glsa_", regex=r"glsa_[A-Za-z0-9]{32}_[a-fA-F0-9]{8}"),
    _shape("grafana_token", "glc_", regex=r"glc_[A-Za-z0-9+/]{60,400}+={0,2}+"),
    _shape("newrelic_key", "NRAK-", regex=r"NRAK-[A-Z0-9]{27}"),
    _shape("databricks_token", "dapi", regex=r"dapi[a-f0-9]{32}(?:-[0-9])?+"),
    _shape("planetscale_password", "pscale_", regex=r"pscale_(?:pw|tkn|oauth)_[A-Za-z0-9_.=-]{32,64}+"),
    _shape("supabase_token", "sbp_", regex=r"sbp_[a-f0-9]{40}"),
    _shape("tailscale_key", "tskey-", regex=r"tskey-[a-z]{3,10}+-[A-Za-z0-9]{6,32}+-[A-Za-z0-9]{16,64}+"),
    _shape("vault_token", "hvs.", regex=r"hvs\.[A-Za-z0-9_-]{24,255}+"),
    _shape("doppler_token", "dp.", regex=r"dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9_.-]{40,80}+"),
    _shape("age_key", "AGE-SECRET-KEY-1", regex=r"AGE-SECRET-KEY-1[A-Z0-9]{58}"),
)
_MODELS = (
    _shape("anthropic_key", "sk-ant-", regex=r"sk-ant-[A-Za-z0-9_-]{32,255}+"),
    _shape(
        "openai_key", "sk-", regex=r"sk-(?!ant-)(?:[a-z]{2,10}+-[A-Za-z0-9_-]{40,255}+|[A-Za-z0-9]{48,64}+)"
    ),
    _shape("groq_key", "gsk_", regex=r"gsk_[A-Za-z0-9]{52}"),
    _shape("replicate_token", "r8_", regex=r"r8_[A-Za-z0-9]{37}"),
    _shape("xai_key", "xai-", regex=r"xai-[A-Za-z0-9]{70,100}+"),
    _shape("perplexity_key", "pplx-", regex=r"pplx-[A-Za-z0-9]{48}"),
)
_MESSAGES = (
    _shape("slack_token", "xox", regex=r"xox[abeoprs](?:\.xox[bp])?+-[A-Za-z0-9-]{10,255}+"),
    _shape("slack_token", "xapp-", regex=r"xapp-[0-9]-[A-Za-z0-9-]{20,255}+"),
    _shape(
        "slack_webhook",
        "hooks.slack.com",
        regex=r"hooks\.slack\.com/(?:services|workflows|triggers)"
        r"/T[A-Z0-9]{6,20}+/[A-Z0-9]{7,20}+(?:/[0-9]{10,20}+)?+/\w{20,40}+",
    ),
    _shape(
        "discord_webhook",
        "/api/webhooks/",
        regex=r"discord(?:app)?\.com/api/webhooks/[0-9]{17,20}+/[A-Za-z0-9_-]{60,80}+",
    ),
    _shape("telegram_token", ":AA", regex=r"[0-9]{8,10}+:AA[A-Za-z0-9_-]{33}"),
    _shape("twilio_key", "SK", regex=r"SK[a-f0-9]{32}"),
    _shape("mailgun_key", "key-", regex=r"key-[a-f0-9]{32}"),
    _shape("sendgrid_key", "SG.", regex=r"SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}"),
)
_MONEY = (
    _shape("stripe_key", "k_live_ k_test_", regex=r"[sr]k_(?:live|test)_[A-Za-z0-9]{16,255}+"),
    _shape("stripe_key", "whsec_", regex=r"whsec_[A-Za-z0-9+/]{32,255}+={0,2}+"),
    _shape("shopify_token", "shp", regex=r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}"),
    _shape("square_key", "sq0csp-", regex=r"sq0csp-[A-Za-z0-9_-]{43}"),
)
_FORMS = (
    _shape(
        "json_web_token",
        "eyJ",
        regex=r"eyJ[A-Za-z0-9_-]{10,4000}+\.eyJ[A-Za-z0-9_-]{10,8000}+\.[A-Za-z0-9_-]{20,2000}+",
    ),
    Shape(
        "json_web_key",
        (b'"kty"',),
        re.compile(rb"\"d\"[ \t]{0,20}+:[ \t]{0,20}+\"(?P<secret>[A-Za-z0-9_-]{42,1400}+)\""),
    ),
    Shape(
        "private_key",
        (b"Private-Lines: ",),
        re.compile(rb"Private-Lines: [0-9]{1,3}+\r?\n(?P<secret>[A-Za-z0-9+/=]{20,100}+)"),
    ),
    Shape(
        "url_password",
        (b"://",),
        re.compile(rb"://[^\s/:@'\"<>]{0,100}+:(?P<secret>[^\s/'\"<>]{3,200})@[A-Za-z0-9\[]"),
    ),
)
SHAPES = (*_CLOUDS, *_CODE, *_MODELS, *_MESSAGES, *_MONEY, *_FORMS)
