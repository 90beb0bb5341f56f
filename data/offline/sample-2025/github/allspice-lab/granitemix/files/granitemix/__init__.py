from .core import GraniteMix

__all__ = ["GraniteMix"]
