import os
import time

import pytest

from probe.basket import Basket


@pytest.fixture
def basket():
    made = Basket()
    made.add("tea", 300, 2)
    made.add("cup", 500)
    return made


@pytest.fixture(scope="session")
def project(request):
    """The project's directory, whatever the working directory is by now."""
    return request.config.rootpath


@pytest.fixture
def zone():
    """Sets the process's zone and puts the former one back."""
    before = os.environ.get("TZ")

    def use(name):
        os.environ["TZ"] = name
        time.tzset()

    yield use
    if before is None:
        os.environ.pop("TZ", None)
    else:
        os.environ["TZ"] = before
    time.tzset()
