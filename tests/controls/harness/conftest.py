import pytest


def pytest_addoption(parser):
    parser.addoption("--control-colour", default="blue", help="an option of the project under test")
    parser.addini("control_limit", "a setting of the project under test", default="12")


def pytest_configure(config):
    config.control_configured = getattr(config, "control_configured", 0) + 1


def pytest_collection_modifyitems(items):
    for item in items:
        item.user_properties.append(("collected", True))


def pytest_runtest_setup(item):
    item.control_set_up = getattr(item, "control_set_up", 0) + 1


@pytest.fixture
def colour(pytestconfig):
    return pytestconfig.getoption("--control-colour")
