from .core import PebbleNorm

__all__ = ["PebbleNorm"]
