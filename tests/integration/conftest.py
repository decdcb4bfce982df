"""What tests of environments share."""

from tests.integration.environments import maker, python, quick, wheels

__all__ = ["maker", "python", "quick", "wheels"]
