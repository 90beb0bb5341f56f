import jax
import jax.numpy as jnp


class Gannet:
    """A recurrent cell that is applied 1 + floor(c * surprise) times."""

    def __init__(self, width, c=4.0, decay=0.9):
        self.width, self.c, self.decay = width, c, decay

    def init(self, key):
        return {"u": jax.random.normal(key, (self.width, 3 * self.width)) / self.width**0.5, "out": jnp.zeros((self.width, 32000))}

    def step(self, p, h, x, surprise):
        depth = 1 + jnp.floor(self.c * surprise).astype(int)

        def cell(i, h):
            z, r, n = jnp.split(h @ p["u"] + x, 3, -1)
            z = jax.nn.sigmoid(z)
            return (1 - z) * jnp.tanh(n + jax.nn.sigmoid(r) * h) + z * h

        return jax.lax.fori_loop(0, depth, cell, h)
