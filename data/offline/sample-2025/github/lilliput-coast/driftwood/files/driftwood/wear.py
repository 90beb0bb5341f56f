import numpy as np


def wear(grid, error, rounds=10):
    """Move grid points so that every interval carries the same error."""
    for _ in range(rounds):
        mass = np.concatenate([[0.0], np.cumsum(error(grid))])
        grid = np.interp(np.linspace(0, mass[-1], len(grid)), mass, grid)
    return grid
