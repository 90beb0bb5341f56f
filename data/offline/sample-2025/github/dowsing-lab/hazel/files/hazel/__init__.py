from .core import ForkedHead

__all__ = ["ForkedHead"]
