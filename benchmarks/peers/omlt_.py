"""OMLT: the host in Pyomo, one block of a formulation of its own for each evaluation.

ReLU units are written by big-M, by parts of their weights or by complementarity, smooth ones by its full-space formulation.
The model is handed over as a file, with Pyomo's own writers, so that the solver's incumbents can be seen: to HiGHS, and to SCIP
where the objective is quadratic, units are smooth or multiplied, because HiGHS takes no such mixed-integer problems.
"""

from __future__ import annotations

import logging
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyomo.environ as pyo
import scipy.sparse as sp
from omlt import OmltBlock
from omlt.neuralnet import (
    FullSpaceSmoothNNFormulation,
    NetworkDefinition,
    ReluBigMFormulation,
    ReluComplementarityFormulation,
    ReluPartitionFormulation,
)
from omlt.neuralnet.layer import DenseLayer, InputLayer
from omlt.neuralnet.layers.partition_based import default_partition_split_func
from pyomo.common.collections import ComponentMap

from benchmarks.harness.outcome import Outcome
from benchmarks.peers.highs_run import run_highs
from benchmarks.peers.host import PlainHost, build_plain_host, extend, layers, whole_quadratic
from benchmarks.peers.solver_run import SolverRun
from dcembed import Embedding, Network, Options, Program
from dcembed.network.activations import RELU, find_activation
from dcembed.program.indicators import linearize_indicators

Array = np.ndarray
FORMULATIONS = {"big-m": ReluBigMFormulation, "partition": ReluPartitionFormulation, "complementarity": ReluComplementarityFormulation}
# Parts that the partition formulation makes of the weights of a unit where nothing else is said.
NUM_PARTS = 2

# OMLT sets values outside of bounds while it builds; Pyomo warns about each.
logging.getLogger("pyomo").setLevel(logging.ERROR)


def solve(
    program: Program, embeddings: Sequence[Embedding], start: Sequence[Array], options: Options, formulation: str = "big-m"
) -> Outcome:
    """Build, write, then optimize with every incumbent kept."""
    began = time.monotonic()
    host = build_plain_host(program, embeddings)
    model = build_model(host, formulation)
    needs_scip = program.is_quadratic or formulation == "complementarity" or any(_is_smooth(network) for network in host.networks)
    num_binaries = sum(1 for v in model.component_data_objects(pyo.Var) if v.is_binary() or v.is_integer())
    with tempfile.TemporaryDirectory() as folder:
        path, names = _write(model, Path(folder), needs_scip)
        starts = [_complete(model, host, extend(host, embeddings, w)) for w in start]
        run = (_run_scip if needs_scip else run_highs)(path, names, starts, options, host.num_columns)
    return Outcome(
        status=run.status,
        points=[(at, x[: host.num_columns]) for at, x in run.points],
        seconds=run.seconds,
        preparation_seconds=time.monotonic() - began - run.seconds,
        added_columns=run.num_columns - host.num_columns,
        added_rows=run.num_rows - program.num_rows,
        added_binaries=num_binaries - program.num_integers,
        bound=run.bound,
    )


def build_model(host: PlainHost, formulation: str = "big-m") -> pyo.ConcreteModel:
    """The host and its networks in Pyomo; columns are model.w. The formulation is that of ReLU units."""
    program = linearize_indicators(host.program)
    model = pyo.ConcreteModel()
    n = program.num_columns
    is_integer = program.integer.tolist()
    model.w = pyo.Var(
        range(n),
        domain=lambda _, j: pyo.Integers if is_integer[j] else pyo.Reals,
        bounds=lambda _, j: (_limit(program.lb[j]), _limit(program.ub[j])),
    )
    model.objective = pyo.Objective(expr=_objective(model, program))
    model.rows = pyo.Constraint(range(program.num_rows), rule=lambda m, i: _row(m, program, i))
    model.nets = OmltBlock([(e, i) for e, inputs in enumerate(host.inputs) for i in range(len(inputs))])
    model.ties = pyo.ConstraintList()
    for e, network in enumerate(host.networks):
        formulate = FullSpaceSmoothNNFormulation if _is_smooth(network) else FORMULATIONS[formulation]
        for i, (inputs, outputs) in enumerate(zip(host.inputs[e].tolist(), host.outputs[e].tolist(), strict=True)):
            block = model.nets[e, i]
            block.build_formulation(formulate(_definition(network, program.lb[inputs], program.ub[inputs])))
            for own, column in enumerate(inputs):
                model.ties.add(block.inputs[own] == model.w[column])
            for own, column in enumerate(outputs):
                model.ties.add(block.outputs[own] == model.w[column])
    return model


def _variables(model: pyo.ConcreteModel) -> list:
    """All variables, those of the host first."""
    return [*model.w.values(), *(variable for block in model.nets.values() for variable in block.component_data_objects(pyo.Var))]


def _complete(model: pyo.ConcreteModel, host: PlainHost, x: Array) -> Array:
    """A start with the values of OMLT's own variables, in the order of `_variables`."""
    for column, value in zip(model.w.values(), x.tolist(), strict=True):
        column.set_value(value, skip_validation=True)
    for e, network in enumerate(host.networks):
        points, before, chain = [x[host.inputs[e]]], [], _chain(network)
        for weight, bias, activation in chain:
            before.append(points[-1] @ weight.T + bias)
            points.append(before[-1] if activation == "linear" else find_activation(activation).value(before[-1]))
        for i in range(len(host.inputs[e])):
            block, own, own_before = model.nets[e, i], [z[i] for z in points], [a[i] for a in before]
            _fill(block, own, own_before)
            _fill_parts(block, own, own_before, [weight for weight, _, _ in chain])
    return np.array([variable.value or 0.0 for variable in _variables(model)])


def _fill(block, points: list[Array], before: list[Array]) -> None:
    """Values of one evaluation: `points` after the activation of each layer, inputs first, `before` before it."""
    values = ComponentMap((name, points[0]) for name in (block.inputs, block.scaled_inputs))
    values.update((name, points[-1]) for name in (block.outputs, block.scaled_outputs))
    for number, layer in enumerate(block.layer.values()):
        values[layer.z] = points[number]
        if number > 0:
            values[layer.zhat] = before[number - 1]
        if hasattr(layer, "q_relu"):
            values[layer.q_relu] = before[number - 1] > 0
        if hasattr(layer, "_complementarity"):
            slack = points[number] - before[number - 1]
            values.update((layer._complementarity[index].v, [slack[index]]) for index in range(slack.size))
    for component, entries in values.items():
        for index, value in zip(component.index_set(), entries, strict=True):
            component[index].set_value(float(value), skip_validation=True)


def _fill_parts(block, points: list[Array], before: list[Array], weights: list[Array]) -> None:
    """Values of what the partition formulation adds to one evaluation: parts of the sum where a unit is on, zeros where it is off."""
    for number, layer in enumerate(block.layer.values()):
        for unit, node in layer.output_node_block.items() if hasattr(layer, "output_node_block") else ():
            weight, is_on = weights[number - 1][unit], before[number - 1][unit] > 0
            node.sig.set_value(0 if is_on else 1)
            for part, columns in enumerate(default_partition_split_func(weight, NUM_PARTS)):
                node.z2[part].set_value(float(weight[columns] @ points[number - 1][columns]) if is_on else 0.0, skip_validation=True)


def _write(model: pyo.ConcreteModel, folder: Path, is_nonlinear: bool) -> tuple[Path, list[str | None]]:
    """The file, and the name of each variable in it; None for one that occurs nowhere."""
    if is_nonlinear:
        # SCIP does not read Pyomo's way of writing squares in LP files.
        model.write(str(folder / "model.nl"), io_options={"symbolic_solver_labels": True})
        return folder / "model.nl", [variable.name for variable in _variables(model)]
    _, number = model.write(str(folder / "model.lp"))
    symbols = model.solutions.symbol_map[number].byObject
    return folder / "model.lp", [symbols.get(id(variable)) for variable in _variables(model)]


def _is_smooth(network: Network) -> bool:
    return any(activation is not RELU for activation in network.activations)


def _chain(network: Network) -> list[tuple[Array, Array, str]]:
    """Weights, biases and activation of every layer, in OMLT's names.

    SCIP reads no tanh from a file, so that tanh(a) is written as 2 sigmoid(2a) - 1: factors and ones go to the weights around it.
    """
    chain, scale, shift = [], 1.0, 0.0
    for (weight, bias), name in zip(layers(network), [*(a.name for a in network.activations), "linear"], strict=True):
        inner = 2.0 if name == "tanh" else 1.0
        chain.append((inner * scale * weight, inner * (bias + shift * weight.sum(axis=1)), "sigmoid" if name == "tanh" else name))
        scale, shift = (2.0, -1.0) if name == "tanh" else (1.0, 0.0)
    return chain


def _definition(network: Network, lb: Array, ub: Array) -> NetworkDefinition:
    """The network in OMLT's own classes, with the bounds of its inputs."""
    definition = NetworkDefinition(scaled_input_bounds={j: (float(lb[j]), float(ub[j])) for j in range(lb.size)})
    last = InputLayer([lb.size])
    definition.add_layer(last)
    for weight, bias, activation in _chain(network):
        layer = DenseLayer(last.output_size, [bias.size], weight.T, bias, activation=activation)
        definition.add_layer(layer)
        definition.add_edge(last, layer)
        last = layer
    return definition


def _objective(model: pyo.ConcreteModel, program: Program):
    expression = program.offset + pyo.quicksum(float(c) * model.w[j] for j, c in enumerate(program.cost) if c)
    curved = whole_quadratic(program)
    if curved is None:
        return expression
    entries = sp.coo_array(sp.triu(curved))
    weight = np.where(entries.row == entries.col, 0.5, 1.0) * entries.data
    terms = zip(entries.row.tolist(), entries.col.tolist(), weight.tolist(), strict=True)
    return expression + pyo.quicksum(v * model.w[i] * model.w[j] for i, j, v in terms)


def _row(model: pyo.ConcreteModel, program: Program, i: int):
    row, lb, ub = program.rows[[i]], program.row_lb[i], program.row_ub[i]
    terms = [v * model.w[j] for j, v in zip(row.indices.tolist(), row.data.tolist(), strict=True)]
    if not terms or not (np.isfinite(lb) or np.isfinite(ub)):
        return pyo.Constraint.Skip
    return (_limit(lb), pyo.quicksum(terms), _limit(ub)) if lb != ub else pyo.quicksum(terms) == float(ub)


def _limit(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _run_scip(path: Path, names: list[str | None], starts: list[Array], options: Options, num_own: int) -> SolverRun:
    import pyscipopt

    from benchmarks.peers.scip_run import run_scip

    model = pyscipopt.Model()
    model.hideOutput()
    model.readProblem(str(path))
    by_name = {variable.name: variable for variable in model.getVars()}
    there = [j for j, name in enumerate(names) if name in by_name]
    columns = [by_name[names[j]] for j in there]

    def to_host(values: Array) -> Array:
        return _spread(values, there, len(names))[:num_own]

    run = run_scip(model, columns, len(columns), [x[there] for x in starts], options, to_host)
    return replace(run, points=[(at, to_host(values)) for at, values in run.points])


def _spread(values: Array, there: list[int], size: int) -> Array:
    x = np.zeros(size)
    x[there] = values
    return x
