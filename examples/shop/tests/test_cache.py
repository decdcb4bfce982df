from shop import cache


def test_value_is_made_once():
    key = object()
    made = []

    def make():
        made.append(key)
        return None

    assert cache.remember(key, make) is None
    assert cache.remember(key, make) is None
    assert len(made) == 1
