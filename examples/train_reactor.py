"""Train the network of the reactor example and write it as ONNX: `python examples/train_reactor.py` (needs torch and onnx).

The plant: two consecutive first-order reactions A -> B -> C in a tubular reactor, with Arrhenius rates that the catalyst charge
raises. B is the product, C the impurity; A that has not reacted is lost.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper

MODEL = Path(__file__).parent / "reactor.onnx"
# Temperature (K), residence time (min), feed concentration (mol/l), catalyst charges (0 to 4).
LOW = np.array([330.0, 2.0, 0.5, 0.0])
HIGH = np.array([375.0, 14.0, 2.0, 4.0])
GAS_CONSTANT = 8.314
PRODUCT_PRICE, FEED_PRICE = 1.0, 0.4  # per mol
WIDTH, NUM_STEPS, BATCH = 32, 10_000, 1024


def plant(x: np.ndarray) -> np.ndarray:
    """Gross margin (per hour and litre of reactor) and impurity (percent of the products), shape (k, 2)."""
    temperature, minutes, feed, charges = x.T
    catalyst = 1.0 + 0.35 * charges
    k1 = 0.08 * catalyst * np.exp(-55e3 / GAS_CONSTANT * (1 / temperature - 1 / 350.0))
    # The catalyst favours the wanted reaction; heat favours the other one.
    k2 = 0.012 * np.sqrt(catalyst) * np.exp(-90e3 / GAS_CONSTANT * (1 / temperature - 1 / 350.0))
    b = feed * k1 / (k2 - k1) * (np.exp(-k1 * minutes) - np.exp(-k2 * minutes))
    c = feed * (1 - np.exp(-k1 * minutes)) - b
    return np.column_stack([60.0 / minutes * (PRODUCT_PRICE * b - FEED_PRICE * feed), 100.0 * c / (b + c)])


def train() -> tuple[torch.nn.Sequential, np.ndarray, np.ndarray]:
    """The network on scaled inputs and outputs, and mean and deviation of the outputs."""
    rng = np.random.default_rng(0)
    torch.manual_seed(0)
    unit = rng.uniform(-1, 1, (60_000, 4))
    y = plant(LOW + (unit + 1) / 2 * (HIGH - LOW))
    mean, deviation = y.mean(axis=0), y.std(axis=0)
    x, target = torch.tensor(unit, dtype=torch.float32), torch.tensor((y - mean) / deviation, dtype=torch.float32)
    relu, linear = torch.nn.ReLU, torch.nn.Linear
    model = torch.nn.Sequential(linear(4, WIDTH), relu(), linear(WIDTH, WIDTH), relu(), linear(WIDTH, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, (1e-5 / 3e-3) ** (1 / NUM_STEPS))
    for step in range(NUM_STEPS):
        batch = torch.randint(0, len(x), (BATCH,))
        loss = ((model(x[batch]) - target[batch]) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if step % 1000 == 0:
            print(f"step {step:5d}  loss {loss.item():.2e}")
    return model, mean, deviation


def write_onnx(model: torch.nn.Sequential, mean: np.ndarray, deviation: np.ndarray) -> None:
    """Physical units in, physical units out: the scaling is part of the graph."""
    arrays = {"middle": (LOW + HIGH) / 2, "half": (HIGH - LOW) / 2, "deviation": deviation, "mean": mean}
    nodes = [helper.make_node("Sub", ["x", "middle"], ["centred"]), helper.make_node("Div", ["centred", "half"], ["h0"])]
    last = "h0"
    for number, layer in enumerate(model):
        name = f"h{number + 1}"
        if isinstance(layer, torch.nn.Linear):
            arrays[f"w{number}"] = layer.weight.detach().numpy()
            arrays[f"b{number}"] = layer.bias.detach().numpy()
            nodes.append(helper.make_node("Gemm", [last, f"w{number}", f"b{number}"], [name], transB=1))
        else:
            nodes.append(helper.make_node("Relu", [last], [name]))
        last = name
    nodes += [helper.make_node("Mul", [last, "deviation"], ["scaled"]), helper.make_node("Add", ["scaled", "mean"], ["y"])]
    graph = helper.make_graph(
        nodes,
        "reactor",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 2])],
        [numpy_helper.from_array(array.astype(np.float32), name) for name, array in arrays.items()],
    )
    model_proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model_proto)
    onnx.save(model_proto, MODEL)


if __name__ == "__main__":
    write_onnx(*train())
    print(f"wrote {MODEL.name}, {MODEL.stat().st_size:,} bytes")
