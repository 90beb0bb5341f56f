"""The page on which people audit rows."""
