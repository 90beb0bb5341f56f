"""The web page for auditors: one request a decision, evidence beside each question, nothing that a build step makes."""
