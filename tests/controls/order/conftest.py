import pytest


@pytest.fixture(scope="session")
def book():
    """A read-only resource shared by the whole session."""
    return ("first page", "second page")


@pytest.fixture(scope="session", params=["small", "large"])
def size(request):
    return request.param


@pytest.fixture(scope="package")
def shelf(book):
    copy = list(book)
    yield copy
    assert copy == list(book)


@pytest.fixture(scope="module")
def module_file(tmp_path_factory, request):
    path = tmp_path_factory.mktemp("module") / "data.txt"
    path.write_text(request.module.__name__, encoding="utf-8")
    yield path
    path.unlink()


@pytest.fixture(autouse=True)
def nothing_left_over(request):
    """Each test starts with an empty basket and may fill it."""
    basket = getattr(request.session, "control_basket", None)
    assert not basket
    request.session.control_basket = []
    yield request.session.control_basket
    request.session.control_basket = []
