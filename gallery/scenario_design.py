"""
Depots for 10,000 demands, proved optimal
=========================================

Depots are built today; who orders how much is known later. Once it is known, a linear program ships the goods. Written 10,000 times into the model
that decides what to build, it would have 280,000 columns and 100,000 rows. So a network with one hidden layer learns what the linear program
costs, and stands in its place. dcembed reads its 10,000 evaluations as one function of the design, finds the best design and proves it.
"""

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog
from sklearn.compose import TransformedTargetRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import dcembed

# %%
# The problem
# -----------
#
# Six sites can have a small depot, a large one or none. Building costs money, and there is a budget for it. Four towns order; their orders
# rise and fall together in part. A unit that no depot can deliver is bought elsewhere, dearly.

NUM_SITES, NUM_TOWNS, NUM_SCENARIOS = 6, 4, 10_000
CAPACITIES = np.array([25.0, 50.0])  # of a small and of a large depot
BUDGET, ELSEWHERE = 1_300.0, 50.0  # for building, and the price of a unit that is bought elsewhere

rng = np.random.default_rng(5)
sites, towns = rng.uniform(0, 100, (NUM_SITES, 2)), rng.uniform(0, 100, (NUM_TOWNS, 2))
freight = 2.0 + 0.15 * np.linalg.norm(sites[:, None] - towns, axis=2)  # of a unit, from site to town
mean_demand = rng.uniform(20, 40, NUM_TOWNS)
building_cost = np.outer(rng.uniform(0.85, 1.2, NUM_SITES), [220.0, 360.0])  # by site and size


def draw_demands(number, rng):
    """Demands (number, towns), lognormal around their means: a factor for all towns together and one for each."""
    together, apart = rng.normal(0, 0.25, (number, 1)), rng.normal(0, 0.25, (number, NUM_TOWNS))
    return mean_demand * np.exp(together + apart - 0.25**2)


# %%
# The second stage
# ----------------
#
# With capacities and demands given, shipping is a linear program. Many of them are solved as one that falls apart into blocks.

meet_demand = sp.hstack([sp.kron(np.ones((1, NUM_SITES)), sp.eye_array(NUM_TOWNS)), sp.eye_array(NUM_TOWNS)])
keep_capacity = sp.hstack([sp.kron(sp.eye_array(NUM_SITES), np.ones((1, NUM_TOWNS))), sp.csr_array((NUM_SITES, NUM_TOWNS))])
unit_cost = np.concatenate([freight.reshape(-1), np.full(NUM_TOWNS, ELSEWHERE)])


def second_stage(capacities, demands, chunk=500):
    """What shipping costs, by linear programs: capacities (k, sites), demands (k, towns), costs (k,)."""
    costs = []
    for first in range(0, len(demands), chunk):
        capacity, demand = capacities[first : first + chunk], demands[first : first + chunk]
        each = sp.eye_array(len(demand))
        answer = linprog(
            np.tile(unit_cost, len(demand)),
            A_ub=sp.kron(each, keep_capacity, format="csr"),
            b_ub=capacity.reshape(-1),
            A_eq=sp.kron(each, meet_demand, format="csr"),
            b_eq=demand.reshape(-1),
        )
        costs.append(answer.x.reshape(len(demand), -1) @ unit_cost)
    return np.concatenate(costs)


# %%
# The network
# -----------
#
# It learns from 3,500 random designs with random demands, and 500 more say how well. Scaling belongs to the model, so that it takes
# capacities and demands as they are.

num_samples, num_training = 4_000, 3_500
share_built = rng.uniform(0.2, 0.8, (num_samples, 1))
built = rng.uniform(size=(num_samples, NUM_SITES)) < share_built
sampled_capacities = np.where(built, rng.choice(CAPACITIES, (num_samples, NUM_SITES)), 0.0)
sampled_demands = draw_demands(num_samples, rng)
samples = np.hstack([sampled_capacities, sampled_demands])
costs = second_stage(sampled_capacities, sampled_demands)

perceptron = MLPRegressor(hidden_layer_sizes=(24,), learning_rate_init=5e-3, batch_size=100, random_state=0)
model = TransformedTargetRegressor(make_pipeline(StandardScaler(), perceptron), transformer=StandardScaler())
model.fit(samples[:num_training], costs[:num_training])
errors = model.predict(samples[num_training:]) - costs[num_training:]
print(f"On samples it has not seen: R2 {model.score(samples[num_training:], costs[num_training:]):.4f}, ", end="")
print(f"mean error {np.abs(errors).mean():.0f} of {costs.mean():.0f}")

# %%
# The model
# ---------
#
# Columns are two binaries for each site (small, large) and a prediction for each scenario, which costs its probability. The inputs of every
# evaluation are the capacities, which depend on the binaries, and the demands, which are constants: `AffineInputs` takes the first as a
# matrix, once for all scenarios, and the second as its offset.

network = dcembed.load_network(model)
NUM_BINARIES = building_cost.size


def design_problem(demands):
    """minimize building + mean of the predicted costs  subject to  the budget, one depot at a site."""
    number = len(demands)
    no_predictions = sp.csr_array((NUM_SITES, number))
    capacities = sp.hstack([sp.kron(sp.eye_array(NUM_SITES), CAPACITIES[None]), no_predictions])
    one_size = sp.hstack([sp.kron(sp.eye_array(NUM_SITES), np.ones((1, 2))), no_predictions])
    budget = np.concatenate([building_cost.reshape(-1), np.zeros(number)])
    program = dcembed.Program(
        cost=np.concatenate([building_cost.reshape(-1), np.full(number, 1.0 / number)]),
        rows=sp.vstack([sp.csr_array(budget[None]), one_size]),
        row_ub=np.concatenate([[BUDGET], np.ones(NUM_SITES)]),
        lb=np.concatenate([np.zeros(NUM_BINARIES), np.full(number, -np.inf)]),
        ub=np.concatenate([np.ones(NUM_BINARIES), np.full(number, np.inf)]),
        integer=np.arange(NUM_BINARIES),
    )
    inputs = dcembed.AffineInputs(
        sp.vstack([capacities, sp.csr_array((NUM_TOWNS, program.num_columns))]),
        np.hstack([np.zeros((number, NUM_SITES)), demands]),
    )
    return program, dcembed.Embedding(network, inputs, outputs=NUM_BINARIES + np.arange(number))


# %%
# The best design for 10,000 scenarios
# ------------------------------------
#
# `prove=True` goes on until no other design can be better. The log says what the problem is: 240,000 hidden units in all evaluations, and
# one column added for them.

demands = draw_demands(NUM_SCENARIOS, np.random.default_rng(1))
result = dcembed.solve(*design_problem(demands), options=dcembed.Options(prove=True, max_starts=1, time_limit=300))
print(f"{result.status.name}: cost {result.objective:.1f}, no design costs less than {result.bound:.1f}")

# %%
# The best design for the mean demand
# -----------------------------------
#
# The obvious thing to do with 10,000 scenarios is to take their mean. It is the same problem with one scenario.

mean_result = dcembed.solve(*design_problem(demands.mean(axis=0, keepdims=True)), options={"prove": True, "verbose": False})
print(f"{mean_result.status.name}: cost {mean_result.objective:.1f}, if the demand were its mean")

# %%
# What the designs really cost
# ----------------------------
#
# Both are put through the linear programs of all 10,000 scenarios. One check is that scikit-learn predicts what dcembed says; the other is
# how far the network is from the linear programs at the design that was chosen by it.


def open_depots(found):
    """The chosen sizes (sites, 2) and the capacities in all scenarios (scenarios, sites)."""
    chosen = found.x[:NUM_BINARIES].round().reshape(NUM_SITES, 2)
    return chosen, np.tile(chosen @ CAPACITIES, (NUM_SCENARIOS, 1))


chosen, capacities = open_depots(result)
building = np.sum(chosen * building_cost)
predicted = building + model.predict(np.hstack([capacities, demands])).mean()
shipping = second_stage(capacities, demands)
print(f"For all scenarios: capacities {capacities[0].astype(int)}, building {building:.0f}")
print(
    f"  expected cost {result.objective:.1f} (dcembed), {predicted:.1f} (scikit-learn), {building + shipping.mean():.1f} (linear programs)"
)
assert abs(result.objective - predicted) < 1e-6 * predicted

mean_chosen, mean_capacities = open_depots(mean_result)
mean_building = np.sum(mean_chosen * building_cost)
mean_shipping = second_stage(mean_capacities, demands)
print(f"For the mean demand: capacities {mean_capacities[0].astype(int)}, building {mean_building:.0f}")
print(
    f"  expected cost {mean_result.objective:.1f} (if demand were its mean), {mean_building + mean_shipping.mean():.1f} (linear programs)"
)

saved = mean_building + mean_shipping.mean() - building - shipping.mean()
print(
    f"Looking at all scenarios saves {saved:.0f}, {saved / (mean_building + mean_shipping.mean()):.1%}: the value of the stochastic solution."
)

# %%
# The same three sites are chosen, but the design for the mean has a small depot at one of them. It is cheaper to build, and in most scenarios cheaper in
# all. It pays for that in the others, where orders are high and much is bought elsewhere.

cheaper = np.mean(mean_building + mean_shipping < building + shipping)
print(f"The design for the mean is the cheaper one in {cheaper:.0%} of the scenarios.")

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained", width_ratios=[2, 3])
left.scatter(*towns.T, s=12 * mean_demand, color="tab:green", marker="s", label="town, by mean demand", zorder=2)
left.scatter(*sites.T, s=50, facecolors="none", edgecolors="gray", label="site", zorder=2)
for who, sizes, color, grow in (("all scenarios", chosen, "tab:blue", 9), ("the mean", mean_chosen, "tab:orange", 3)):
    size = sizes @ CAPACITIES
    left.scatter(*sites[size > 0].T, s=grow * size[size > 0], color=color, label=f"depot for {who}", zorder=3)
left.set(xlim=(-5, 105), ylim=(-5, 145), xlabel="km", ylabel="km", title="What is built, by capacity")
left.legend(loc="upper left", ncols=2, fontsize=8, markerscale=0.5, borderpad=1.0)

bins = np.linspace(0, np.quantile(mean_shipping, 0.998), 80)
for who, costs_of, color in (("all scenarios", shipping, "tab:blue"), ("the mean", mean_shipping, "tab:orange")):
    right.hist(costs_of, bins, color=color, alpha=0.55, label=f"design for {who}")
    right.axvline(costs_of.mean(), color=color, linewidth=2, label=f"its mean, {costs_of.mean():.0f}")
    right.axvline(np.quantile(costs_of, 0.95), color=color, linestyle=":", label=f"its 95 % quantile, {np.quantile(costs_of, 0.95):.0f}")
right.set(xlabel="cost of shipping in a scenario, by its linear program", ylabel="scenarios", title="10,000 scenarios")
right.legend()
plt.show()
