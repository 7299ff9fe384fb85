"""
Fertilizer and water for twelve fields
======================================

A farm has nitrogen and water for a season, and twelve fields with different soils. A scikit-learn pipeline, fitted on records of trials, predicts
the yield of a field. How should both be shared out? The plan is a CVXPY problem: one call embeds the pipeline, with its scaling and its
polynomial features, in all fields at once, and what seeps into the ground water is limited by a convex constraint as CVXPY users write it.
"""

import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.metrics import r2_score
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

import dcembed.cvxpy

# %%
# What really happens
# -------------------
#
# The trials are synthetic, so the truth is known. Nitrogen helps less and less, and too much of it lays the crop down. Water hardly helps
# a little: the response is S-shaped, and sets in late on sand. Each makes the other worth more, and clay keeps both.


def true_yield(nitrogen, water, clay, slope):
    """Tons of wheat per hectare from kg of nitrogen per hectare, mm of water, the share of clay and the slope in percent."""
    fed = 1.0 - np.exp(-0.016 * (nitrogen + 60.0 * clay))
    watered = 1.0 / (1.0 + np.exp(-(water - 110.0 + 130.0 * clay) / 22.0))
    laid_down = 0.012 * np.maximum(nitrogen - 150.0, 0.0)
    return (2.0 + 7.5 * fed * (0.25 + 0.75 * watered)) * (1.0 - 0.015 * slope) - laid_down


MAX_NITROGEN, MAX_WATER = 220.0, 200.0
rng = np.random.default_rng(0)
trials = pd.DataFrame(
    rng.uniform([0.0, 0.0, 0.05, 0.0], [MAX_NITROGEN, MAX_WATER, 0.5, 12.0], size=(1500, 4)),
    columns=["nitrogen", "water", "clay", "slope"],
)
harvest = true_yield(*trials.to_numpy().T) + rng.normal(0.0, 0.25, size=len(trials))

# %%
# The pipeline
# ------------
#
# As one would fit it anyway, on a table with named columns. Nothing of it is rewritten for the optimization.

pipeline = make_pipeline(
    StandardScaler(),
    PolynomialFeatures(degree=2, include_bias=False),
    MLPRegressor(hidden_layer_sizes=(16,), solver="lbfgs", alpha=1e-3, max_iter=1500, random_state=0),
)
pipeline.fit(trials, harvest)
print(f"R² {r2_score(true_yield(*trials.to_numpy().T), pipeline.predict(trials)):.3f} against the truth")

# %%
# The farm
# --------

NUM_FIELDS = 12
fields = pd.DataFrame(
    {
        "hectares": rng.uniform(4.0, 15.0, NUM_FIELDS).round(1),
        "clay": np.linspace(0.06, 0.48, NUM_FIELDS).round(2),
        "slope": rng.uniform(0.0, 10.0, NUM_FIELDS).round(1),
    },
    index=[f"field {number}" for number in range(1, NUM_FIELDS + 1)],
)
hectares, clay, slope = (fields[name].to_numpy() for name in fields)
WHEAT, NITROGEN, WATER = 220.0, 1.3, 0.9  # euro for a ton, a kg, a mm on one hectare
TOTAL_NITROGEN = 110.0 * hectares.sum()  # kg
TOTAL_WATER = 60.0 * hectares.sum()  # mm times hectares
MAX_SEEPAGE = 9.0  # kg of nitrogen per hectare, averaged over the farm
seepage = 0.0009 * (1.2 - clay)  # kg per hectare, by the square of the nitrogen: sand lets more through
print(fields)

# %%
# The model
# ---------
#
# The inputs are given by the names of the columns that the pipeline was fitted on: two are variables, two are what they are on each field.
# The prediction is an expression with a row for each field.

nitrogen = cp.Variable(NUM_FIELDS, name="nitrogen", bounds=[0, MAX_NITROGEN])
water = cp.Variable(NUM_FIELDS, name="water", bounds=[0, MAX_WATER])
tons = dcembed.cvxpy.embed(pipeline, {"nitrogen": nitrogen, "water": water, "clay": clay, "slope": slope})[:, 0]

profit = hectares @ (WHEAT * tons - NITROGEN * nitrogen - WATER * water)
constraints = [
    hectares @ nitrogen <= TOTAL_NITROGEN,
    hectares @ water <= TOTAL_WATER,
    cp.sum(cp.multiply(hectares * seepage, cp.square(nitrogen))) <= MAX_SEEPAGE * hectares.sum(),
]
problem = cp.Problem(cp.Maximize(profit), constraints)

# %%
# The obvious plan: every hectare gets the same, as much of both as the limits allow, or less where that pays more. The best of a grid:


def profit_of(nitrogen, water):
    """Euro, by the pipeline's own prediction."""
    table = pd.DataFrame({"nitrogen": nitrogen, "water": water, "clay": clay, "slope": slope}, columns=trials.columns)
    return hectares @ (WHEAT * pipeline.predict(table) - NITROGEN * np.asarray(nitrogen) - WATER * np.asarray(water))


most = min(110.0, np.sqrt(MAX_SEEPAGE * hectares.sum() / (hectares @ seepage)))
equal = max(
    ((np.full(NUM_FIELDS, n), np.full(NUM_FIELDS, w)) for n in np.linspace(0.0, most, 23) for w in np.linspace(0.0, 60.0, 13)),
    key=lambda plan: profit_of(*plan),
)
print(f"The same for all, {equal[0][0]:.0f} kg and {equal[1][0]:.0f} mm on each hectare: {profit_of(*equal):,.0f} euro")

# %%
# The plan
# --------
#
# ``verbose=True`` shows the log. ``prove=True`` asks for a bound on what any plan can earn, and ``gap_tol=0.01`` is content with 1 %.

problem.solve(method="dcembed", time_limit=60, max_starts=2, prove=True, gap_tol=0.01, verbose=True)

# %%
# What it earns, and whether it is true
# -------------------------------------
#
# The pipeline is asked again, with a table of the plan, as scikit-learn users do. The truth is known here, so it may say what it thinks.

result = dcembed.cvxpy.result_of(problem)
plan = fields.assign(nitrogen=nitrogen.value, water=water.value, tons=tons.value)
print(plan.round(2))
difference = np.abs(pipeline.predict(plan[trials.columns]) - plan["tons"]).max()
print(f"Largest difference from the pipeline's own prediction: {difference:.0e} tons per hectare")
print(
    f"The plan earns {problem.value:,.0f} euro, {problem.value / profit_of(*equal) - 1:.0%} more than the same for all ({problem.status})."
)
print(f"No plan earns more than {result.bound:,.0f} euro, by the pipeline: the gap is {result.gap:.1%}.")
truth = [hectares @ (WHEAT * true_yield(n, w, clay, slope) - NITROGEN * n - WATER * w) for n, w in (equal, (nitrogen.value, water.value))]
print(f"In truth it is {truth[1]:,.0f} against {truth[0]:,.0f} euro, {truth[1] / truth[0] - 1:.0%} more.")

# %%
# A little water for everyone is water wasted. The plan gives enough to some fields and little or none to others, and the nitrogen goes where the
# water is.

figure, panels = plt.subplots(3, 1, figsize=(9, 7.5), layout="constrained", sharex=True)
places = np.arange(NUM_FIELDS)
shown = ("nitrogen (kg/ha)", nitrogen.value, equal[0]), ("water (mm)", water.value, equal[1])
for panel, (label, planned, same) in zip(panels, shown, strict=False):
    panel.bar(places, planned, color="#1f5fa8", label="the plan")
    panel.step([-0.5, *places + 0.5], [same[0], *same], color="black", linestyle="--", label="the same for all")
    panel.set(ylabel=label, xlim=(-0.6, NUM_FIELDS - 0.4))
panels[0].legend(loc="upper left", ncols=2)
panels[0].set_ylim(0, 1.35 * nitrogen.value.max())
same_tons = pipeline.predict(pd.DataFrame({"nitrogen": equal[0], "water": equal[1], "clay": clay, "slope": slope}))
panels[2].bar(places, tons.value, color="#4a8c3f", label="the plan")
panels[2].step([-0.5, *places + 0.5], [same_tons[0], *same_tons], color="black", linestyle="--")
panels[2].set(ylabel="yield (t/ha)", xticks=places, xticklabels=[f"{row.clay:.0%}\n{row.hectares:.0f} ha" for row in fields.itertuples()])
panels[2].set_xlabel("fields, by their share of clay")
plt.show()

# %%
# What the pipeline promises on sand and on clay, after the cost of nitrogen and water, and the fields nearest to that: they are on one side of the slope
# or on the other, hardly ever between.

figure, panels = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained", sharey=True)
grid = np.meshgrid(np.linspace(0, MAX_NITROGEN, 60), np.linspace(0, MAX_WATER, 60))
for panel, share, near in zip(panels, (0.12, 0.38), (clay < 0.25, clay >= 0.25), strict=True):
    points = pd.DataFrame({"nitrogen": grid[0].ravel(), "water": grid[1].ravel(), "clay": share, "slope": 4.0})
    earned = WHEAT * pipeline.predict(points) - NITROGEN * points["nitrogen"] - WATER * points["water"]
    filled = panel.contourf(*grid, earned.to_numpy().reshape(grid[0].shape), levels=np.arange(200, 1651, 50), extend="both", cmap="YlGn")
    panel.scatter(
        nitrogen.value[near],
        water.value[near],
        s=9 * hectares[near],
        color="#1f5fa8",
        edgecolor="white",
        zorder=3,
        clip_on=False,
        label="the plan",
    )
    panel.plot(equal[0][0], equal[1][0], "kx", markersize=10, markeredgewidth=2, label="the same for all")
    panel.set(title=f"{share:.0%} of clay", xlabel="nitrogen (kg/ha)")
panels[0].set_ylabel("water (mm)")
panels[0].legend(loc="upper left")
figure.colorbar(filled, ax=panels, label="euro per hectare")
plt.show()
