"""The prefixes and shapes that services give their keys, as one table."""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

LONGEST = 512
"""Characters of a token at most: what is longer is cut there."""

PatternStep = tuple[str, int, int]
WORD = "[A-Za-z0-9_-]"
ALNUM = "[A-Za-z0-9]"


BEHIND = 6
"""Characters before a prefix that are looked at."""
_ESCAPE = "|".join((
    r"(?<=\\[nrtbf])|(?<=\\x[0-9A-Fa-f]{2})|(?<=\\u[0-9A-Fa-f]{4})|(?<=%[0-9A-Fa-f]{2})",  # in JSON, in Python, in a URL
    r"(?<=\[m)|(?<=[\[;][0-9]m)|(?<=[\[;][0-9]{2}m)|(?<=[\[;][0-9]{3}m)",  # a colour of a terminal
))  # fmt: skip
NO_WORD = f"(?:(?<![A-Za-z0-9_-])|{_ESCAPE})"
"""No letter, digit, hyphen or underscore before the prefix, but for those that end an escape."""
NO_LETTER = f"(?:(?<![A-Za-z0-9])|{_ESCAPE})"
"""The same, where a hyphen or an underscore may be before it."""


class Format(NamedTuple):
    """One shape. `keep`: the prefix, and what `lead` matches behind it, stay readable; `digit`: a digit must be in it, so that words joined by dashes
    are no key; `behind`: what must be before the prefix, at most `BEHIND` characters."""

    kind: str
    prefixes: tuple[str, ...]
    steps: Sequence[PatternStep]
    keep: bool = False
    digit: bool = False
    ending: Sequence[PatternStep] = ()
    """Steps that belong to the key where they follow, and need not."""
    behind: str = NO_WORD
    lead: Sequence[PatternStep] = ()
    run: int = 0
    """So many characters of Base64 must follow one another in the first step: a text that only names the format has none."""
    guard: str = ""
    """What must hold where the first step begins, a look ahead into the steps."""
    followed: str = ""
    """What must come after the key: a look ahead at one character, which is none of the one step that the format then has."""
    spares_names: bool = False
    """What is put together from words, such as `process.env.AUTH0_SECRET`, is no key: see `is_name`."""


def letters(text: str) -> list[PatternStep]:
    """A fixed text as steps."""
    return [(re.escape(letter), 1, 1) for letter in text]


def _row(kind: str, prefixes: str, atom: str, least: int, most: int | None = None, **more: Any) -> Format:
    """A shape of one step: so many of the characters behind one of the prefixes, which have spaces between them; `most` 0: any number above `least`."""
    return Format(kind, tuple(prefixes.split()), [(atom, least, LONGEST if most == 0 else most or least)], **more)


_PARTS = "(?:[A-Z]{1,3}+[a-z]{2,}+|[A-Z][a-z](?![A-Za-z])|[A-Z]{2,}+|[a-z]{2,}+)"
_NAME_WORD = re.compile(f"(?:{_PARTS}|[A-Za-z](?![A-Za-z])){_PARTS}*+[0-9]{{0,2}}{_PARTS}*+|[0-9]{{1,4}}")
_LONGEST_NAME, _LETTERS_OF_A_PART = 160, 3


def is_name(value: str) -> bool:
    """Whether a value is put together from words, as names of settings, files and packages are: at least two, between `.`, `_`, `/` or `-`, each with at most
    two digits, or a number of at most four; with as many letters as words have, which chance does not give."""
    if len(value) > _LONGEST_NAME:
        return False
    words = [word for word in re.split("[._/~-]+", value) if word]
    if len(words) < 2 or not all(_NAME_WORD.fullmatch(word) for word in words):
        return False
    parts = re.findall("[A-Z]*[a-z]+|[A-Z]+", value)
    return sum(map(len, parts)) >= _LETTERS_OF_A_PART * len(parts)


_BLOCK: list[PatternStep] = [("[A-Z ]", 0, 30), *letters("PRIVATE KEY"), ("[A-Z ]", 0, 10), *letters("-----")]
_BODY: PatternStep = (r"""(?:[A-Za-z0-9+/=\s\\:,.()"'>]|-(?!-))""", 0, 20_000)
"""The lines of a key with their headers, also quoted, in a diff or as a JSON text."""
_UUID = "[0-9a-fA-F-]"
_BASE64 = "[A-Za-z0-9+/]"
_ASSIGNED: list[PatternStep] = [(r"""(?:%(?:20|22|27|3[AaDdEe])|[\s"'=:>\\])""", 1, 8)]

_GITLAB_END: list[PatternStep] = [*letters("."), ("[a-z0-9]", 2, 2), *letters("."), ("[a-z0-9]", 7, 9)]

FORMATS = (
    _row("anthropic", "sk-ant-", WORD, 20, 0),
    _row("openai", "sk-", WORD, 20, 0, digit=True, spares_names=True),
    _row("github", "ghp_ gho_ ghu_ ghs_ ghr_", ALNUM, 36, 0),
    _row("github", "github_pat_", "[A-Za-z0-9_]", 22, 0),
    _row("gitlab", "glpat- gldt- glrt- glcbt- glptt- glft- glimt- glagent- gloas- glsoat- glffct-", WORD, 20, 0, ending=_GITLAB_END),
    _row("gitlab", "GR1348941", WORD, 20, 0),
    _row("aws", "AKIA ASIA ABIA ACCA", "[A-Z0-9]", 16),
    _row("aws", "ABSK", "[A-Za-z0-9+/=]", 109, 0),
    Format(
        "aws",
        ("aws_secret_access_key", "AWS_SECRET_ACCESS_KEY", "aws_secret_key", "SecretAccessKey", "secretAccessKey"),
        [("[A-Za-z0-9+/]", 40, 40)],
        keep=True,
        lead=_ASSIGNED,
    ),
    Format("azure", ("AccountKey=", "SharedAccessKey=", "accountKey="), [(_BASE64, 40, 88), ("=", 0, 2)], keep=True),
    _row("azure", "7Q~ 8Q~", "[A-Za-z0-9_~.-]", 34, behind="(?<=[A-Za-z0-9_~.])"),
    _row("google", "AIza", WORD, 35),
    _row("google", "GOCSPX-", WORD, 20, 0),
    _row("google", "ya29.", WORD, 20, 2048),
    _row("slack", "xoxb- xoxp- xoxa- xoxr- xoxs- xoxc- xoxd- xoxe- xapp-", "[A-Za-z0-9%-]", 10, 0, digit=True),
    _row("slack", "xoxe.xoxb- xoxe.xoxp-", "[A-Za-z0-9-]", 20, 0),
    _row("slack", "hooks.slack.com/services/ hooks.slack.com/workflows/ hooks.slack.com/triggers/", "[A-Za-z0-9/_-]", 30, 120, keep=True),
    _row("discord", "discord.com/api/webhooks/ discordapp.com/api/webhooks/", "[A-Za-z0-9/_-]", 60, 120, keep=True),
    _row("telegram", ":AA %3AAA %3aAA", WORD, 33, behind="(?<=[0-9])"),
    _row("groq", "gsk_", ALNUM, 20, 0),
    _row("nvidia", "nvapi-", WORD, 20, 0),
    _row("huggingface", "hf_ api_org_", ALNUM, 30, 0),
    _row("xai", "xai-", ALNUM, 40, 0),
    _row("perplexity", "pplx-", ALNUM, 40, 0),
    _row("replicate", "r8_", ALNUM, 37, 40),
    _row("cerebras", "csk-", ALNUM, 40, 0),
    _row("tavily", "tvly-", WORD, 20, 0, digit=True),
    _row("pinecone", "pcsk_", "[A-Za-z0-9_]", 40, 0),
    _row("langsmith", "lsv2_pt_ lsv2_sk_", "[a-f0-9_]", 32, 0),
    _row("stripe", "sk_live_ rk_live_ sk_test_ rk_test_ sk_prod_ rk_prod_", ALNUM, 20, 0),
    _row("stripe", "whsec_", "[A-Za-z0-9+/=]", 32, 0),
    _row("npm", "npm_", ALNUM, 36),
    _row("pypi", "pypi-AgEIcHlwaS5vcmc pypi-AgENdGVzdC5weXBpLm9yZw", WORD, 50, 0),
    _row("rubygems", "rubygems_", "[a-f0-9]", 48),
    _row("docker", "dckr_pat_ dckr_oat_", WORD, 24, 0),
    Format("sendgrid", ("SG.",), [(WORD, 16, 32), *letters("."), (WORD, 32, 64)]),
    _row("mailgun", "key- pubkey-", "[a-f0-9]", 32),
    _row("twilio", " ".join(f"SK{digit}" for digit in "0123456789abcdef"), "[0-9a-f]", 31),
    _row("brevo", "xkeysib- xsmtpsib-", "[a-zA-Z0-9-]", 80, 90),
    _row("digitalocean", "dop_v1_ doo_v1_ dor_v1_", "[a-f0-9]", 64),
    _row("shopify", "shpat_ shpca_ shppa_ shpss_", "[a-fA-F0-9]", 32),
    _row("square", "sq0atp- sq0csp- sq0idp-", WORD, 22, 0, digit=True),
    _row("databricks", "dapi", "[a-f0-9]", 32, 34, ending=[("-", 1, 1), ("[0-9]", 1, 1)]),
    _row("linear", "lin_api_ lin_oauth_", ALNUM, 32, 64),
    _row("notion", "secret_", ALNUM, 43),
    _row("notion", "ntn_", ALNUM, 40, 0),
    _row("figma", "figd_ figo_ figu_ figor_ figur_", WORD, 36, 0),
    Format("postman", ("PMAK-",), [("[a-fA-F0-9]", 24, 24), *letters("-"), ("[a-fA-F0-9]", 34, 34)]),
    _row("newrelic", "NRAK- NRII- NRJS- NRSP-", WORD, 19, 40),
    _row("grafana", "glc_ glsa_", "[A-Za-z0-9+/=_]", 32, 0),
    _row("vault", "hvs. hvb. hvr.", WORD, 24, 0),
    _row("terraform", ".atlasv1.", "[A-Za-z0-9=_-]", 60, 80, behind="(?<=[A-Za-z0-9])"),
    Format("doppler", ("dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."), [(ALNUM, 40, 80)]),
    _row("planetscale", "pscale_tkn_ pscale_pw_ pscale_oauth_", WORD, 32, 64),
    _row("prefect", "pnu_ pnb_", ALNUM, 36),
    _row("pulumi", "pul-", "[a-f0-9]", 40),
    _row("readme", "rdme_", "[a-z0-9]", 70),
    _row("sentry", "sntrys_ sntryu_", "[A-Za-z0-9+/=_]", 60, 0),
    _row("shippo", "shippo_live_ shippo_test_", "[a-f0-9]", 40),
    _row("age", "AGE-SECRET-KEY-1", "[A-Z0-9]", 58),
    _row("1password", "ops_eyJ", "[A-Za-z0-9+/=_-]", 100, 4096),
    Format("airtable", ("pat",), [(ALNUM, 14, 14), *letters("."), ("[a-f0-9]", 64, 64)]),
    _row("alibaba", "LTAI", ALNUM, 16, 26),
    _row("artifactory", "AKCp", ALNUM, 69, 73),
    _row("atlassian", "ATATT3 ATCTT3 ATBB", "[A-Za-z0-9_=-]", 24, 0),
    _row("adafruit", "aio_", ALNUM, 28),
    _row("clojars", "CLOJARS_", "[A-Za-z0-9]", 60),
    _row("contentful", "CFPAT-", WORD, 43),
    Format("dynatrace", ("dt0c01.", "dt0s01."), [("[A-Z0-9]", 24, 24), *letters("."), ("[A-Z0-9]", 64, 64)]),
    _row("duffel", "duffel_test_ duffel_live_", "[A-Za-z0-9_=-]", 43),
    _row("easypost", "EZAK EZTK", ALNUM, 54),
    _row("flutterwave", "FLWSECK_TEST- FLWSECK- FLWPUBK_TEST-", "[A-Za-z0-9-]", 32, 0),
    _row("frameio", "fio-u-", "[A-Za-z0-9=_-]", 64),
    _row("hubspot", "pat-na1- pat-eu1- pat-na2-", _UUID, 36),
    _row("heroku", "HRKU-AA", WORD, 58),
    _row("infracost", "ico-", ALNUM, 32),
    Format("mapbox", ("sk.eyJ", "pk.eyJ"), [(WORD, 40, LONGEST), *letters("."), (WORD, 16, 64)]),
    _row("netlify", "nfp_", ALNUM, 36, 40),
    _row("nuget", "oy2", "[a-z0-9]", 43),
    _row("octopus", "API-", "[A-Z0-9]", 26, digit=True),
    _row("openshift", "sha256~", WORD, 43),
    _row("sonar", "sqp_ squ_ sqa_", "[a-f0-9]", 40),
    _row("sourcegraph", "sgp_ sgd_", "[A-Za-z0-9_]", 40, 0),
    _row("supabase", "sbp_ sb_secret_", WORD, 30, 0, digit=True),
    _row("tailscale", "tskey-", "[A-Za-z0-9-]", 20, 0, digit=True),
    _row("typeform", "tfp_", "[A-Za-z0-9_.=-]", 59),
    _row("wakatime", "waka_", _UUID, 36),
    _row("yandex", "AQVN y0_", WORD, 35, 64, digit=True),
    _row("facebook", "EAACEdEose0cBA", ALNUM, 60, 0),
    _row("dropbox", "sl.", "[A-Za-z0-9=_-]", 130, 2048),
    _row("firecrawl", "fc-", "[a-f0-9]", 32),
    _row("e2b", "e2b_", "[a-f0-9]", 40),
    _row("fireworks", "fw_", ALNUM, 20, 32, digit=True),
    _row("voyage", "pa-", WORD, 40, 48, digit=True),
    _row("together", "tgp_v1_", WORD, 40, 0),
    _row("elevenlabs", "sk_", "[a-f0-9]", 48),
    _row("jina", "jina_", WORD, 40, 0),
    _row("google", "1//0", WORD, 40, 0),
    _row("aws", "IQoJb3JpZ2lu", "[A-Za-z0-9+/=]", 100, 4096),
    Format("resend", ("re_",), [(ALNUM, 8, 8), *letters("_"), (ALNUM, 20, 26)]),
    _row("square", "EAAA", WORD, 56, 64, digit=True, guard=f"(?!{WORD}{{0,56}}AAAA)"),  # zeros of a binary file in Base64 begin so
    Format("adyen", ("AQE",), [("[A-Za-z0-9+/]", 60, 160), ("=", 0, 2), *letters("-"), ("[A-Za-z0-9+/<>{}]", 16, 80)]),
    _row("crates", "cio", ALNUM, 32, digit=True),
    _row("vercel", "vercel_blob_rw_ vcp_ vci_ vca_ vcr_ vck_", "[A-Za-z0-9_]", 24, 0),
    _row("cloudflare", "v1.0-", "[a-f0-9-]", 140, 200),
    _row("fly", "fm1r_ fm1a_ fm2_", "[A-Za-z0-9+/=_-]", 60, 4096),
    _row("fly", "fo1_", WORD, 40, 0),
    _row("render", "rnd_", ALNUM, 28, 0),
    Format("infisical", ("st.",), [("[0-9a-f-]", 20, 40), *letters("."), ("[0-9a-f]", 30, 40), *letters("."), ("[0-9a-f]", 30, 40)]),
    _row("honeycomb", "hcaik_ hcamk_ hcalk_", ALNUM, 50, 0),
    _row("posthog", "phx_ phs_", ALNUM, 40, 0),
    _row("logfire", "pylf_v1_ pylf_v2_", "[A-Za-z0-9_]", 40, 0),
    Format("clickup", ("pk_",), [("[0-9]", 6, 10), *letters("_"), ("[A-Z0-9]", 32, 32)]),
    _row("dropbox", "sl.u.", "[A-Za-z0-9=_-]", 130, 2048),
    _row("neon", "napi_", "[a-z0-9]", 40, 0),
    _row("mongodb", "mdb_sa_sk_", WORD, 36, 0),
    _row("firebase", ":APA91b", WORD, 100, 200, behind="(?<=[A-Za-z0-9_-])"),
    _row("intercom", "dG9rOj", "[A-Za-z0-9+/=_-]", 40, 0),
    _row("circleci", "CCIPAT_ CCIPRJ_", "[A-Za-z0-9_]", 40, 0),
    _row("buildkite", "bkua_ bkct_ bkaj_", "[a-f0-9]", 40),
    _row("artifactory", "cmVmdGtuOjAx", "[A-Za-z0-9+/=_-]", 40, 0),
    _row("apify", "apify_api_", ALNUM, 30, 0),
    _row("browserbase", "bb_live_ bb_test_", WORD, 24, 0),
    _row("razorpay", "rzp_live_ rzp_test_", ALNUM, 14),
    _row("plaid", "access-production- access-sandbox- access-development-", "[0-9a-f-]", 36),
    _row("paypal", "access_token$production$ access_token$sandbox$", "[a-z0-9$]", 40, 60),
    _row("django", "django-insecure-", r"[A-Za-z0-9!@#$%^&*()_=+-]", 40, 60),
    Format("jwt", ("eyJ",), [(WORD, 10, 4096), *letters(".eyJ"), (WORD, 10, 8192), *letters("."), (WORD, 10, 2048)]),
    Format("bearer", ("Bearer ", "bearer "), [("[A-Za-z0-9._~+/=-]", 20, 2048)], keep=True, digit=True),
    Format("basic", ("Authorization: Basic ", "authorization: Basic "), [("[A-Za-z0-9+/=]", 16, 2048)], keep=True),
    Format("private-key", ("-----BEGIN ",), [_BODY], lead=_BLOCK, run=16, ending=[*letters("-----END "), *_BLOCK]),
    Format("private-key", ("Private-Lines: ",), [("[0-9]", 1, 3), (r"[\r\n\\]", 1, 3), (r"[A-Za-z0-9+/=\r\n\\]", 40, 20_000)], keep=True),
)
"""Sources: the services' own pages on their keys; GitHub's list of supported secret scanning patterns and the rules of gitleaks name the prefixes."""
