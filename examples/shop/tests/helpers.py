"""Shared by the test modules."""


def cents(text):
    """An amount as a price tag has it, in cents.

    >>> cents("12.90")
    1290
    >>> cents("7")
    700
    """
    euros, _, rest = text.partition(".")
    return int(euros) * 100 + int(rest.ljust(2, "0"))
