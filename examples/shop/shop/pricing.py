"""Prices. All amounts are integers, in cents."""

from shop import cache, config


def vat_rate(country):
    """Value added tax in per cent."""
    return cache.remember(("vat", country), lambda: config.VAT[country])


def gross(net, country):
    """``net`` with the country's tax, rounded half up."""
    return net + (net * vat_rate(country) + 50) // 100


def draw_winner(customers, rng):
    """The winner of the monthly voucher."""
    return rng.choice(sorted(customers))


def money(cents):
    return f"{cents // 100}.{cents % 100:02d} {config.CURRENCY}"
