"""The agent that reads a paper and calls the ten tools; models, limits and prompts."""
