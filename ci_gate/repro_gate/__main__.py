"""``python -m repro_gate``: the same as the command ``repro-gate``."""

from repro_gate.cli.main import main

if __name__ == "__main__":
    main()
