"""``python -m shop --version``"""

import sys

from shop import __version__


def main(arguments):
    if arguments == ["--version"]:
        print(f"shop {__version__}")
        return 0
    print("usage: python -m shop --version", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
