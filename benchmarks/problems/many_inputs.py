"""Networks with as many inputs as a picture has pixels: minimize one output over a ball around a point.

minimize f_j(x)   subject to   |x - x0| <= radius (in the infinity or the Euclidean norm),   x in [0, 1]^n

The networks are random, made from their seed in a moment and never stored.
"""

from __future__ import annotations

import itertools

import numpy as np
import scipy.sparse as sp

from benchmarks.problems.instance import Instance
from benchmarks.problems.sizes import SizeError
from dcembed import ConeConstraint, Embedding, Network, Program, build_mlp

NUM_OUTPUTS = 10
NUM_INPUTS, NETWORK_SIZES, NORMS = (784, 3072), ("256x3", "512x4", "1024x6"), ("inf", "2")
# The networks of 256 units in a layer that verification is tried on, over boxes.
DEEPER = ("784x256x2-inf", "784x256x4-inf", "784x256x6-inf")
# Half the side of the box, and the radius of the Euclidean ball: both leave most pixels nearly as they are.
RADIUS = {"inf": 0.03, "2": 1.0}


def build_many_inputs(size: str, trial: int) -> Instance:
    """The instance of a size INPUTSxWIDTHxDEPTH-NORM, such as 784x256x3-inf, and a trial."""
    num_inputs, width, depth, norm = _read_size(size)
    network = random_network(num_inputs, width, depth, trial)
    return ball_instance(network, trial, norm)


def many_inputs_sizes() -> tuple[str, ...]:
    """All sizes, the smallest network first, then those of equal width and other depths."""
    sizes = (f"{inputs}x{network}-{norm}" for inputs, network, norm in itertools.product(NUM_INPUTS, NETWORK_SIZES, NORMS))
    return (*sizes, *DEEPER)


def random_network(num_inputs: int, width: int, depth: int, seed: int, num_outputs: int = NUM_OUTPUTS) -> Network:
    """Weights of variance 2 / fan-in, so that activations neither grow nor vanish with depth, and small biases."""
    rng = np.random.default_rng((seed, num_inputs, width, depth))
    sizes = [num_inputs, *[width] * depth, num_outputs]
    weights = [rng.normal(0.0, np.sqrt(2.0 / a), (b, a)) for a, b in itertools.pairwise(sizes)]
    return build_mlp(weights, [rng.normal(0.0, 0.1, weight.shape[0]) for weight in weights])


def ball_instance(network: Network, trial: int, norm: str) -> Instance:
    """Minimize the first output over a ball around a random point of the unit cube."""
    n = network.num_inputs
    middle = np.random.default_rng((trial, n)).random(n)
    lb, ub = np.zeros(n), np.ones(n)
    cones: tuple[ConeConstraint, ...] = ()
    if norm == "inf":
        lb, ub = np.maximum(lb, middle - RADIUS[norm]), np.minimum(ub, middle + RADIUS[norm])
    else:
        # t = radius is a constant; the outputs are no part of the distance.
        distance = sp.vstack([sp.csr_array((1, n + network.num_outputs)), sp.eye_array(n, n + network.num_outputs)], format="csr")
        cones = (ConeConstraint(distance, np.concatenate([[RADIUS[norm]], -middle])),)
    free = np.full(network.num_outputs, np.inf)
    program = Program(
        cost=np.concatenate([np.zeros(n), np.eye(network.num_outputs)[0]]),
        lb=np.concatenate([lb, -free]),
        ub=np.concatenate([ub, free]),
        cones=cones,
    )
    embedding = Embedding(network, np.arange(n)[None], n + np.arange(network.num_outputs)[None])
    start = np.concatenate([middle, network(middle)])
    return Instance(f"{n} inputs, {norm}-ball, trial {trial}", program, (embedding,), [start])


def _read_size(size: str) -> tuple[int, int, int, str]:
    try:
        shape, norm = size.split("-")
        num_inputs, width, depth = (int(part) for part in shape.split("x"))
    except ValueError:
        norm = ""
    if norm not in NORMS:
        raise SizeError(f"A size of this family is INPUTSxWIDTHxDEPTH-NORM with a norm of {' or '.join(NORMS)}; received {size!r}.")
    return num_inputs, width, depth, norm
