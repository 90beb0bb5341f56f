from .core import Patina

__all__ = ["Patina"]
