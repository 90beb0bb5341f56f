from .core import Thistle

__all__ = ["Thistle"]
