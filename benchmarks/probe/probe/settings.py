import os


def region():
    return os.environ.get("PROBE_SHOP_REGION", "eu")


def timeout():
    return 60 if "CI" in os.environ else 5


class Session:
    def __init__(self):
        self.user = None

    def login(self, name):
        self.user = name

    def title(self):
        return self.user.title()


session = Session()
