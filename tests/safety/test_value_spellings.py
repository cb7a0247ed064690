"""A value that the owner typed is the same in every spelling of its kind; what looks like it is another one."""

import pytest

from neuralclaw.safety.owner_words import OwnerWords

SAME = [
    ("mail Alice@Example.COM", "alice@example.com"),
    ("mail alice@bücher.example", "alice@xn--bcher-kva.example"),
    ("mail 'alice@example.com'.", "alice@example.com"),
    ("get https://bücher.example/a", "https://xn--bcher-kva.example/a"),
    ("get https://xn--bcher-kva.example/a", "https://BÜCHER.example/a"),
    ("get https://a.example/x%20y", "https://a.example/x y"),
    ("get https://a.example/caf%c3%a9", "https://a.example/café"),
    ("get https://a.example/%7Eann", "https://a.example/~ann"),
    ("get https://a.example:443/x", "https://a.example/x"),
    ("look at bücher.example", "xn--bcher-kva.example"),
    ("call +49 (170) 123-4567", "+491701234567"),
    ("call 0049 170 1234567", "+49 170 1234567"),
    ("call +49 170 1234567", "491701234567"),
    ("call 0170 1234567 or write", "01701234567"),
    ("call 0170/1234567.", "0170 1234567"),
    ("pay 1.234,56 EUR", 1234.56),
    ("pay 1,234.56", "1234.56"),
    ("pay €1'000", 1000),
    ("pay 12.345.678", 12345678),
    ("pay ５０", 50),
    ("pay 1 000 €", "€1,000.00"),
    ("to DE89 3704 0044 0532 0130 00", "de89370400440532013000"),
    ("tell Σωκράτης", "ΣΩΚΡΆΤΗΣ"),
    ("mail ⓐlice@example.com", "ⓐlice@example.com"),
]
OTHER = [
    ("mail alice@example.com", "\u0430lice@example.com"),  # a Cyrillic letter
    ("mail alice@example.com", "alice@ex\u0430mple.com"),
    ("mail \u0430lice@example.com", "alice@example.com"),
    ("mail alice@example.com", "\u24d0lice@example.com"),  # a compatibility form: another mailbox
    ("mail alice@example.com", "\uff41lice@example.com"),
    ("mail alice@example.com", "alice\u200b@example.com"),
    ("mail alice@example.com", "alice@xn--exmple-4nf.com"),
    ("mail admin@strasse.example", "admin@straße.example"),
    ("mail admin@straße.example", "admin@strasse.example"),
    ("look at paypal.example", "p\u0430ypal.example"),
    ("look at paypal.example", "xn--pypal-4ve.example"),
    ("mail o'brien@example.com", "brien@example.com"),
    ("mail a.b+tag@example.com", "a.b@example.com"),
    ("mail bob@example.com", "bob@example.com.evil.test"),
    ("get https://a.example/x", "https://a.example/x/y"),
    ("get https://a.example/a%2Fb", "https://a.example/a/b"),
    ("get https://a.example/x", "https://a.example:8443/x"),
    ("get https://a.example/x", "https://a.example@evil.test/x"),
    ("get https://a.example/x", "https://evil.test/https://a.example/x"),
    ("write \u0441at", "cat"),
    ("write simple", "\u017fimple"),
    ("call +49 170 1234567", "+49 170 12345678"),
    ("call 0170 1234567", "+0170 1234567"),
    ("on 2024-05-20 10 people", "2024052010"),
    ("on 01.02.2024 10", "0102202410"),
    ("pay 1.234,56 EUR", 123456),
    ("pay 1,234.56", 1.23456),
    ("pay 50", 500),
    ("pay 50", "-50"),
    ("pay 50", "5\u0660"),  # an Arabic zero
]


@pytest.mark.parametrize(("said", "value"), SAME)
def test_another_spelling_of_a_typed_value_is_the_owners_word(said: str, value: str | float) -> None:
    assert OwnerWords([said]).name(value)


@pytest.mark.invariant("flow.no-widening")
@pytest.mark.parametrize(("said", "value"), OTHER)
def test_what_only_looks_like_a_typed_value_is_not(said: str, value: str | float) -> None:
    assert not OwnerWords([said]).name(value)
