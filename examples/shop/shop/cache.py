"""A cache for values that are slow to look up; it lives as long as the process."""

_values = {}


def remember(key, make):
    """The value kept for ``key``; it is made on the first call."""
    if key not in _values:
        _values[key] = make()
    return _values[key]


def clear():
    """Forget everything."""
    _values.clear()
