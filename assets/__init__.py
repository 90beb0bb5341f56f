"""Dagster definitions and the `reclaim` command: effects at the edge, no rules."""
