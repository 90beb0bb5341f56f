"""A small world on loopback that speaks the real services' wire formats."""
