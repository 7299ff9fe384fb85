"""How encoders and heads of sets (`set_encoder.py`) are trained, both at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from benchmarks.problems.descent import fit, named_weights, perceptron
from benchmarks.problems.perceptron import build_perceptron
from benchmarks.problems.set_encoder import CODE_SIZE, ENCODER_WIDTH, HEAD_WIDTH, PARTS, encoder_path
from dcembed import Network, save_network
from dcembed.network.activations import RELU

BATCH, FIRST_RATE, LAST_RATE, VALIDATION_SHARE = 100, 2e-3, 2e-5, 0.1
# Features (k, n, m) of sets, which members are chosen (k, n), and values (k,).
Samples = tuple[np.ndarray, np.ndarray, np.ndarray]


def train_parts(samples: Samples, num_steps: int) -> tuple[float, dict[str, Network]]:
    """Mean squared error on sets that were kept back, as a share of their variance, and both parts, which take and give unscaled numbers."""
    torch.manual_seed(0)
    features, chosen, values = samples
    middle, scale = values.mean(), values.std()
    mean, std = features.mean(axis=(0, 1)), features.std(axis=(0, 1))
    std = np.where(std > 0, std, 1.0)
    x, z, y = (torch.from_numpy(part).float() for part in ((features - mean) / std, chosen, (values - middle) / scale))
    encoder, head = perceptron([x.shape[2], ENCODER_WIDTH, 2 * CODE_SIZE]), perceptron([2 * CODE_SIZE, HEAD_WIDTH, 1])
    held = int(VALIDATION_SHARE * len(x))

    def predict(batch: torch.Tensor) -> torch.Tensor:
        codes, share = encoder(x[batch]), z[batch][:, :, None]
        sums = torch.cat([(share * codes[:, :, :CODE_SIZE]).mean(dim=1), ((1 - share) * codes[:, :, CODE_SIZE:]).mean(dim=1)], dim=1)
        return head(sums)[:, 0]

    def error(batch: torch.Tensor) -> torch.Tensor:
        return ((predict(batch) - y[batch]) ** 2).mean()

    both = torch.nn.ModuleList([encoder, head])
    fit(both, lambda: error(torch.randint(held, len(x), (BATCH,))), num_steps, FIRST_RATE, LAST_RATE)
    with torch.no_grad():
        left = float(error(torch.arange(held)) / y[:held].var())
    named = named_weights(head)
    named["W2"], named["b2"] = scale * named["W2"], scale * named["b2"] + middle
    parts = build_perceptron(named_weights(encoder) | {"mean": mean, "std": std}, RELU), build_perceptron(named, RELU)
    return left, dict(zip(PARTS, parts, strict=True))


def train_and_save(problem: str, samples: Callable[[], Samples], num_steps: int) -> str:
    """What came out of it."""
    error, parts = train_parts(samples(), num_steps)
    for part, network in parts.items():
        save_network(network, encoder_path(problem, part))
    return (
        f"{problem}: validation error {error:.1e} of the variance, saved to {', '.join(encoder_path(problem, part).name for part in PARTS)}"
    )
