# SPDX-License-Identifier: Apache-2.0
"""Learning rates for larger worlds."""


def linear_scaled_lr(base, world, step=None, warmup=0):
    """The Linear Scaling Rule: when the batch grows ``world``-fold, so does the learning rate (Goyal et al., 2017).

    base: the rate that suits one process. world: number of processes, at least 1.
    step, warmup: in the first ``warmup`` steps the rate rises in equal steps from ``base`` to ``base * world``, because
    the full rate at the very beginning often diverges. ``step`` counts from 0; None is after the warm-up.

    Returns the rate, a float. Raises ValueError for a world below 1, a warm-up or a step below 0.
    """
    if world < 1 or warmup < 0 or (step is not None and step < 0):
        raise ValueError(f"linear_scaled_lr: world {world} must be at least 1, warmup {warmup} and step {step} at "
                         "least 0")
    full = float(base) * world
    if step is None or step >= warmup:
        return full
    return base + (full - base) * step / warmup
