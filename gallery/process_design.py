"""
A reactor, a column and a recycle
=================================

How hot and how large a reactor should be depends on the column behind it, which sends back what has not reacted; and the column has a whole
number of stages. A tanh network has learned the loop from simulations: purity of the product, heat for the column, volume of the reactor. A
Pyomo model finds the cheapest plant that is pure enough and that the boiler can heat. The answer is proved for the network, and then
compared with the simulation.
"""

import matplotlib.pyplot as plt
import numpy as np
import pyomo.environ as pyo
import torch
from scipy.stats import qmc

import dcembed.pyomo

# %%
# What really happens
# -------------------
#
# A becomes B, which is sold, and B becomes C, which nobody wants: two reactions of first order in a stirred tank, the second one more
# sensitive to heat. A column takes A, the light one, to its top, and B and C to its bottom; it parts A and B the better the more stages it has
# and the more of its top it pours back (the reflux). Its top goes back to the reactor. All flows of the loop follow from balances.
#
# This is the simulation that a real project would run for hours; here it is five balances, so that answers can be checked.

NAMES = ["temperature", "time", "stages", "reflux"]
LOW, HIGH = np.array([345.0, 0.5, 10.0, 1.0]), np.array([390.0, 3.0, 40.0, 3.0])  # K, h in the reactor, number, ratio
FEED = 100.0  # kmol/h of A


def simulate(design):
    """Purity (%), heat (MW) and volume (m3), shape (k, 3), of designs (k, 4)."""
    temperature, time, stages, reflux = np.transpose(design)
    first = 1.00 * np.exp(-7_000.0 * (1.0 / temperature - 1.0 / 370.0))  # per hour, A to B
    second = 0.05 * np.exp(-11_000.0 * (1.0 / temperature - 1.0 / 370.0))  # B to C
    lost = 1.0 / (1.0 + 1.6 ** (stages * reflux / (reflux + 1.0) / 2.0))  # the share of A that goes down, and of B that goes up
    a = FEED / (lost + first * time)  # kmol/h that leave the reactor
    b = first * time * a / (1.0 + second * time - lost)
    c = second * time * b
    top = (1.0 - lost) * a + lost * b
    purity = 100.0 * (1.0 - lost) * b / (lost * a + (1.0 - lost) * b + c)
    heat = (1.0 + reflux) * top * 36.0 / 3_600.0  # 36 MJ/kmol
    volume = time * (FEED + top) / 10.0  # 10 kmol/m3
    return np.stack([purity, heat, volume], axis=1)


# %%
# The network
# -----------
#
# It is trained on 2,048 simulations, and 2,048 others say how well it does. Scaling is a part of the module.


def sample_designs(number, seed):
    """Designs spread evenly over the box, with whole numbers of stages."""
    designs = qmc.scale(qmc.Sobol(4, seed=seed).random(number), LOW, HIGH)
    designs[:, 2] = designs[:, 2].round()
    return designs


class Surrogate(torch.nn.Module):
    """Sixteen tanh units between two fixed scalings."""

    def __init__(self, inputs, targets):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.Tanh(), torch.nn.Linear(16, 3))
        for name, values in {"inputs": inputs, "targets": targets}.items():
            self.register_buffer(f"{name}_mean", values.mean(dim=0))
            self.register_buffer(f"{name}_scale", values.std(dim=0))

    def forward(self, x):
        """Designs in their own units to predictions in theirs."""
        return self.layers((x - self.inputs_mean) / self.inputs_scale) * self.targets_scale + self.targets_mean


torch.manual_seed(0)
torch.set_num_threads(1)
torch.set_default_dtype(torch.float64)
samples = sample_designs(2_048, seed=0)
simulated = simulate(samples)
inputs, targets = torch.tensor(samples), torch.tensor(simulated)
surrogate = Surrogate(inputs, targets)
optimizer = torch.optim.LBFGS(surrogate.parameters(), max_iter=500, history_size=50, line_search_fn="strong_wolfe")


def measure_loss():
    """The mean squared error relative to the spread of each output, with its gradient."""
    optimizer.zero_grad()
    loss = torch.mean(((surrogate(inputs) - targets) / surrogate.targets_scale) ** 2)
    loss.backward()
    return loss


optimizer.step(measure_loss)


def predict(designs):
    """What torch says, shape (k, 3)."""
    with torch.no_grad():
        return surrogate(torch.tensor(designs)).numpy()


others = sample_designs(2_048, seed=1)
errors = np.sqrt(np.mean((predict(others) - simulate(others)) ** 2, axis=0))
print(f"Root mean square errors: purity {errors[0]:.2f} %, heat {errors[1]:.3f} MW, volume {errors[2]:.2f} m3")

# %%
# The plant in Pyomo
# ------------------
#
# Steam, stages and volume cost money every hour. Purity and heat have limits, and both are predictions. The corrections are for later.

STEAM, STAGE, VOLUME = 40.0, 3.5, 2.5  # euro an hour for a MW, a stage, a m3
PUREST, BOILER = 95.0, 2.4  # % at least, MW at most

m = pyo.ConcreteModel()
m.design = pyo.Var(NAMES, bounds=dict(zip(NAMES, zip(LOW, HIGH, strict=True), strict=True)))
m.design["stages"].domain = pyo.Integers
m.surrogate = pyo.Block()
dcembed.pyomo.embed(m.surrogate, surrogate, inputs=m.design)
purity, heat, volume = (m.surrogate.outputs[i] for i in range(3))
m.purity_correction = pyo.Param(initialize=0.0, mutable=True)
m.heat_correction = pyo.Param(initialize=0.0, mutable=True)
m.pure_enough = pyo.Constraint(expr=purity + m.purity_correction >= PUREST)
m.boiler = pyo.Constraint(expr=heat + m.heat_correction <= BOILER)
m.cost = pyo.Objective(expr=STEAM * heat + STAGE * m.design["stages"] + VOLUME * volume)

solver = pyo.SolverFactory("dcembed")
solver.solve(m, prove="auto", max_starts=2, time_limit=120, tee=True)
result = solver.result
answer = np.array([[m.design[name].value for name in NAMES]])
print(f"{result.status.name}: {result.objective:.2f} euro an hour, no design below {result.bound:.2f}, gap {result.gap:.3%}")

# %%
# Is it true?
# -----------
#
# torch predicts what dcembed says, to the last digit that is shown. The plant that is built is not the network, though, and an optimizer looks
# for places where the network errs in its favour. So the simulation is asked about the answer, too. For comparison there is the best design
# among the 2,048 that were simulated for training, which is what one has without a model. And since this simulation takes no time, the best of a
# million designs shows what is there to be had.


def hourly_cost(designs, outcome):
    """Euro an hour of designs (k, 4) with outcomes (k, 3)."""
    return STEAM * outcome[:, 1] + STAGE * designs[:, 2] + VOLUME * outcome[:, 2]


def best_simulated(designs):
    """The cheapest of the designs that keep the limits, by simulation, and its outcome."""
    outcome = simulate(designs)
    kept = (outcome[:, 0] >= PUREST) & (outcome[:, 1] <= BOILER)
    number = np.argmin(np.where(kept, hourly_cost(designs, outcome), np.inf))
    return designs[[number]], outcome[[number]]


def show(name, designs, outcome):
    """A line of the table."""
    print(f"{name:30}", *(f"{v:8.3f}" for v in (*designs[0], *outcome[0], hourly_cost(designs, outcome)[0])))


predicted = np.array([[purity.value, heat.value, volume.value]])
assert np.allclose(predicted, predict(answer), rtol=1e-6)
print(" " * 30, *(f"{word:>8}" for word in ("K", "h", "stages", "reflux", "%", "MW", "m3", "euro/h")))
show("answer, by dcembed", answer, predicted)
show("answer, by torch", answer, predict(answer))
show("answer, by simulation", answer, simulate(answer))
show("best of the training designs", *best_simulated(samples))
show("best of a million designs", *best_simulated(sample_designs(2**20, seed=2)))

# %%
# The limits hold for the network. For the plant they hold up to the network's errors, and here the boiler is asked for a little more than it has.
# One simulation has told by how much: both limits are corrected by the errors at the answer, and the model is solved again.

miss = (simulate(answer) - predicted)[0]
m.purity_correction.value, m.heat_correction.value = miss[0], miss[1]
solver.solve(m, prove="auto", max_starts=2, time_limit=120)
corrected = np.array([[m.design[name].value for name in NAMES]])
show("corrected, by dcembed", corrected, np.array([[purity.value, heat.value, volume.value]]))
show("corrected, by simulation", corrected, simulate(corrected))
print(f"The corrected model: {solver.result.status.name}, gap {solver.result.gap:.3%}")

# %%
# Where it is
# -----------
#
# Two slices of the four dimensions through the answer: colours are the predicted cost, pale is what breaks a limit. The points are the designs
# that dcembed held for the best, one after the other; they lie in other slices as well. The dotted lines are the limits by simulation.

columns = [result.program.column_names.index(f"design[{name}]") for name in NAMES]
path = np.array([point[columns] for point in result.incumbent_points if point is not None])
LABELS = ["temperature (K)", "time in the reactor (h)", "stages", "reflux"]

figure, axes = plt.subplots(1, 2, figsize=(11, 4.8), layout="constrained")
for ax, (i, j) in zip(axes, ((0, 1), (2, 3)), strict=True):
    across, along = np.meshgrid(np.linspace(LOW[i], HIGH[i], 150), np.linspace(LOW[j], HIGH[j], 150))
    slice_ = np.tile(answer, (across.size, 1))
    slice_[:, i], slice_[:, j] = across.reshape(-1), along.reshape(-1)
    by_network, by_simulation = predict(slice_), simulate(slice_)
    cost = hourly_cost(slice_, by_network).reshape(across.shape)
    filled = ax.contourf(across, along, cost, levels=np.arange(200, 501, 20), cmap="viridis_r", extend="both")
    for output, limit, color, name in ((0, PUREST, "crimson", f"purity {PUREST:g} %"), (1, BOILER, "black", f"heat {BOILER:g} MW")):
        network, simulation = (values[:, output].reshape(across.shape) for values in (by_network, by_simulation))
        ax.contourf(across, along, network, levels=[-np.inf, limit] if output == 0 else [limit, np.inf], colors="white", alpha=0.5)
        ax.contour(across, along, network, levels=[limit], colors=color, linewidths=1.8)
        ax.contour(across, along, simulation, levels=[limit], colors=color, linewidths=1.2, linestyles=":")
        ax.plot([], [], color=color, label=name)
    ax.plot(path[:, i], path[:, j], "o-", color="tab:orange", markeredgecolor="black", markersize=5, linewidth=1, label="best so far")
    ax.plot(*answer[0, [i, j]], "*", color="gold", markeredgecolor="black", markersize=18, label="answer")
    ax.plot(*corrected[0, [i, j]], "D", color="deepskyblue", markeredgecolor="black", markersize=7, label="corrected")
    ax.set(xlabel=LABELS[i], ylabel=LABELS[j], xlim=(LOW[i], HIGH[i]), ylim=(LOW[j], HIGH[j]))
axes[0].set_title(f"{answer[0, 2]:.0f} stages, reflux {answer[0, 3]:.2f}")
axes[1].set_title(f"{answer[0, 0]:.1f} K, {answer[0, 1]:.2f} h in the reactor")
axes[0].legend(loc="upper right")
figure.colorbar(filled, ax=axes, label="predicted cost (euro an hour)")
plt.show()
