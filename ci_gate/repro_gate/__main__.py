"""The command ``repro-gate``, and ``python -m repro_gate``: an interrupt ends it in silence from its first moment."""

import sys

from repro_gate import errors


def main() -> None:
    """Load and run the command."""
    try:
        from repro_gate.cli.main import main as command
    except KeyboardInterrupt:
        sys.exit(int(errors.ExitCode.INTERRUPTED))
    command()


if __name__ == "__main__":
    main()
