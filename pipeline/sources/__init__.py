"""The only code that talks to arXiv, OpenReview, GitHub, Hugging Face and the web, through one recorder."""
