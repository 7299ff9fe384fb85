"""
A heat pump that starts when it pays
====================================

A heat pump keeps a tank of hot water warm, and the price of power changes by the hour. In which hours should it run, and at what power? The
heat that it gives for a kilowatt depends on the air, on the load and on how hot the tank already is. Nobody has a formula for that, but a
PyTorch network has learned it from records. The plan is a Pyomo model with the rules of unit commitment: a start costs something, and whoever
starts has to run for a while. The network says how much heat there is in each of the 24 hours.
"""

import matplotlib.pyplot as plt
import numpy as np
import pyomo.environ as pyo
import torch

import dcembed.pyomo

# %%
# What really happens
# -------------------
#
# The records are synthetic, so the truth is known. The coefficient of performance rises with the temperature of the air and falls with that
# of the tank; it is best at 60 % of the load; and around 1 °C the evaporator freezes, which costs up to 15 % for defrosting.

MAX_POWER, MIN_POWER, MAX_HEAT = 5.0, 1.5, 20.0  # kW, while it runs
COLDEST, HOTTEST = 40.0, 60.0  # °C, of the tank


def true_heat(power, outdoor, tank):
    """kW of heat from kW of power, with air and tank in °C."""
    performance = 3.6 + 0.08 * outdoor - 0.05 * (tank - 45.0) - 1.2 * (power / MAX_POWER - 0.6) ** 2
    defrosting = 0.15 * np.exp(-(((outdoor - 1.0) / 2.0) ** 2))
    return power * performance * (1.0 - defrosting)


rng = np.random.default_rng(0)
records = rng.uniform([0.0, -8.0, COLDEST - 2], [MAX_POWER, 12.0, HOTTEST + 2], size=(3000, 3))
measured = true_heat(*records.T) + rng.normal(0.0, 0.15, size=3000)

# %%
# The network
# -----------
#
# Two hidden layers of 16 ReLU. A first layer standardizes the inputs, so that the network takes kilowatts and degrees as they are, and a last
# ReLU is put behind what was learned, since heat is never negative.

torch.manual_seed(0)
torch.set_num_threads(1)
inputs, targets = torch.tensor(records, dtype=torch.float32), torch.tensor(measured, dtype=torch.float32)[:, None]
standardize = torch.nn.Linear(3, 3).requires_grad_(False)
standardize.weight.copy_(torch.diag(1.0 / inputs.std(0)))
standardize.bias.copy_(-inputs.mean(0) / inputs.std(0))
learner = torch.nn.Sequential(torch.nn.Linear(3, 16), torch.nn.ReLU(), torch.nn.Linear(16, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
optimizer = torch.optim.LBFGS(learner.parameters(), max_iter=400, line_search_fn="strong_wolfe")


def measure_loss():
    """The mean squared error, with its gradient."""
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(learner(standardize(inputs)), targets)
    loss.backward()
    return loss


optimizer.step(measure_loss)
network = torch.nn.Sequential(standardize, *learner, torch.nn.ReLU())


def predicted_heat(power, outdoor, tank):
    """What PyTorch says, for numbers or for arrays of hours."""
    columns = np.column_stack(np.broadcast_arrays(power, outdoor, tank))
    with torch.no_grad():
        return network(torch.tensor(columns, dtype=torch.float32))[:, 0].numpy().astype(float)


error = np.sqrt(np.mean((predicted_heat(*records.T) - true_heat(*records.T)) ** 2))
print(f"The network is {error:.2f} kW off the truth (root mean square); the measurements that it has seen are 0.15 kW off.")

# %%
# The day
# -------
#
# A cold day in March. Power is dear in the morning and in the evening, when heat is wanted most, and cheap at night and at noon.

hours = np.arange(24)
outdoor = 3.0 - 5.0 * np.cos(2 * np.pi * (hours - 3) / 24)
price = 0.27 + 0.11 * np.exp(-((hours - 7.5) ** 2) / 6) + 0.16 * np.exp(-((hours - 19) ** 2) / 8) - 0.10 * np.exp(-((hours - 13) ** 2) / 8)
demand = 6.5 + 4.0 * np.exp(-((hours - 7) ** 2) / 6) + 3.0 * np.exp(-((hours - 20) ** 2) / 8)

CAPACITY = 3.5  # kWh for each degree of the tank
LOSS, CELLAR = 0.02, 15.0  # kW for each degree that the tank is warmer than the cellar
START = 0.25  # euro: the wear of a start

# %%
# What a thermostat does
# ----------------------
#
# Below 46 °C it starts the pump, at full power, and above 54 °C it stops it. Here is a month of days like this one, by the network's heat. Where the
# tank would be colder than 40 °C, an electric rod helps out.


def run_thermostat(num_days=30):
    """Power and tank on the last day, by hour, and what a day costs on average."""
    tank, is_on, total = 50.0, False, 0.0
    for _ in range(num_days):
        powers, tanks = np.zeros(24), np.zeros(24)
        for t in hours:
            was_on, is_on = is_on, tank < 46.0 or (is_on and tank < 54.0)
            heat = predicted_heat(MAX_POWER, outdoor[t], tank)[0] if is_on else 0.0
            after = tank + (heat - demand[t] - LOSS * (tank - CELLAR)) / CAPACITY
            rod = max(0.0, (COLDEST - after) * CAPACITY)
            tanks[t], powers[t] = tank, MAX_POWER * is_on + rod
            tank = after + rod / CAPACITY
            total += price[t] * powers[t] + START * (is_on and not was_on)
    return powers, tanks, total / num_days


rule_power, rule_tank, rule_cost = run_thermostat()
print(f"With the thermostat a day costs {rule_cost:.2f} euro.")

# %%
# The model
# ---------
#
# One call of ``embed`` puts the network into all hours. A start is paid for, and after it the pump runs for at least three hours. The day ends as
# it began.

model = pyo.ConcreteModel()
model.hours = pyo.Set(initialize=range(24))
model.on = pyo.Var(model.hours, domain=pyo.Binary)
model.starts = pyo.Var(model.hours, bounds=(0, 1))
model.power = pyo.Var(model.hours, bounds=(0, MAX_POWER))
model.heat = pyo.Var(model.hours, bounds=(0, MAX_HEAT))
model.rod = pyo.Var(model.hours, bounds=(0, 5))
model.tank = pyo.Var(model.hours, bounds=(COLDEST, HOTTEST))

model.pump = pyo.Block()
dcembed.pyomo.embed(model.pump, network, inputs=[[model.power[t], outdoor[t], model.tank[t]] for t in model.hours])


@model.Constraint(model.hours)
def gives(m, t):
    """While it runs, the pump gives what the network predicts, or less."""
    return m.heat[t] <= m.pump.outputs[t, 0]


@model.Constraint(model.hours)
def rests(m, t):
    return m.heat[t] <= MAX_HEAT * m.on[t]


@model.Constraint(model.hours)
def least(m, t):
    return m.power[t] >= MIN_POWER * m.on[t]


@model.Constraint(model.hours)
def most(m, t):
    return m.power[t] <= MAX_POWER * m.on[t]


@model.Constraint(model.hours)
def started(m, t):
    return m.starts[t] >= m.on[t] - m.on[(t - 1) % 24]


@model.Constraint(model.hours)
def stays(m, t):
    return m.starts[t] + m.starts[(t - 1) % 24] + m.starts[(t - 2) % 24] <= m.on[t]


@model.Constraint(model.hours)
def balance(m, t):
    lost = demand[t] + LOSS * (m.tank[t] - CELLAR)
    return CAPACITY * (m.tank[(t + 1) % 24] - m.tank[t]) == m.heat[t] + m.rod[t] - lost


@model.Objective()
def cost(m):
    return sum(price[t] * (m.power[t] + m.rod[t]) + START * m.starts[t] for t in m.hours)


# %%
# The plan
# --------
#
# ``prove=True`` asks for a bound as well, and ``gap_tol=0.05`` is content when it shows that no plan is cheaper by more than 5 %.

solver = pyo.SolverFactory("dcembed")
results = solver.solve(model, tee=True, time_limit=60, max_starts=2, prove=True, gap_tol=0.05)

# %%
# What it saves, and whether it is true
# -------------------------------------
#
# PyTorch is asked again for the heat in all hours of the plan. And since the truth is known here, it may say what it thinks of them.

on, power, heat, rod, tank = (
    np.array(list(v.extract_values().values())) for v in (model.on, model.power, model.heat, model.rod, model.tank)
)
running = on > 0.5
by_torch = predicted_heat(power, outdoor, tank)
short = np.maximum(heat - by_torch, 0.0).max()
print(f"The plan costs {pyo.value(model.cost):.2f} euro, {1 - pyo.value(model.cost) / rule_cost:.0%} less than the thermostat.")
print(f"No plan costs less than {results.problem.lower_bound:.2f} euro: the gap is {solver.result.gap:.1%} ({solver.result.status.name}).")
print(f"Hours that the pump runs: {running.sum()}; starts: {(running & ~np.roll(running, 1)).sum()}; heat of the rod: {rod.sum():.1f} kWh.")
print(f"In no hour is its heat more than {short:.0e} kW above what PyTorch predicts.")
print(f"In all it is {heat.sum():.1f} kWh; the truth gives {true_heat(power, outdoor, tank)[running].sum():.1f} kWh.")

# %%
# The plan fills the tank at noon, when power is cheap and the air is mild, and rests in the evening. At other times it keeps the tank as cool
# as it may, since a hot tank costs performance, and runs at a part of its load.

figure, (above, middle, below) = plt.subplots(3, 1, figsize=(9, 8), layout="constrained", sharex=True)
above.step(hours, price, where="mid", color="crimson")
above.set(ylabel="price (euro/kWh)", ylim=(0, 0.5))
air = above.twinx()
air.plot(hours, outdoor, color="gray", linestyle=":")
air.set_ylabel("air (°C, dotted)", color="gray")
middle.bar(hours, power + rod, color="#1f5fa8", label="the plan")
middle.step(hours, rule_power, where="mid", color="black", linestyle="--", label="thermostat")
middle.set(ylabel="power (kW)", ylim=(0, 7))
middle.legend(loc="upper center", ncols=2)
below.axhspan(COLDEST, HOTTEST, color="#e8eef5")
below.plot(hours, tank, color="#1f5fa8", marker="o", markersize=4, label="the plan")
below.plot(hours, rule_tank, color="black", linestyle="--", label="thermostat")
below.set(xlabel="hour", ylabel="tank (°C)", xlim=(-0.6, 23.6), xticks=range(0, 24, 3), ylim=(38, 64))
below.legend(loc="upper right", ncols=2)
plt.show()

# %%
# What the network has learned: lines are the heat for each kilowatt at three temperatures of the air, with the tank at 45 °C. The air at 1 °C is the
# worst, not the coldest. Points are the hours of the plan, with the tank as it is then.

figure, axes = plt.subplots(figsize=(9, 4.5), layout="constrained")
loads = np.linspace(MIN_POWER, MAX_POWER, 200)
for air, color in ((-2.0, "#1f5fa8"), (1.0, "#6a3d9a"), (8.0, "#e08e0b")):
    axes.plot(loads, predicted_heat(loads, air, 45.0) / loads, color=color, label=f"air at {air:.0f} °C")
    axes.plot(loads, true_heat(loads, air, 45.0) / loads, color=color, linestyle=":", linewidth=1)
points = axes.scatter(power[running], by_torch[running] / power[running], c=outdoor[running], cmap="coolwarm", edgecolor="black", zorder=3)
figure.colorbar(points, label="air in the hours of the plan (°C)")
axes.set(xlabel="power (kW)", ylabel="heat for each kW of power", title="lines: the network; dotted: the truth; points: the plan")
axes.legend(loc="center left", bbox_to_anchor=(0.0, 0.6))
plt.show()
