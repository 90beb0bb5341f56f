"""The benchmark's rules: no Dagster, no web framework, no LLM library in here."""
