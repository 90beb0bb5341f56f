from .core import Shift

__all__ = ["Shift"]
