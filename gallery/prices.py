"""
Prices and places in a shop
===========================

A chain sells four juices in four cities. For each it decides on the price and on where it stands: on the shelf, at the end of an aisle or in the
window. A scikit-learn pipeline predicts how many bottles are sold in a week, from the price and from three categories: juice, city, place. What
is a category in the data is a choice of one in the model: the place is decided by binaries, juice and city are what they are. The model is
written in linopy, over juices and cities.
"""

import linopy
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import dcembed.linopy

# %%
# What really happens
# -------------------
#
# The records are synthetic, so the truth is known. Buyers leave when the price comes near what the shop across the street asks for, which is another
# price in each city, and they leave all the sooner the simpler the juice. A window helps little where everyone knows the juice, and much where
# strangers pass by.

JUICES = pd.Index(["apple", "orange", "mango", "berry"], name="juice")
CITIES = pd.Index(["north", "south", "river", "coast"], name="city")
PLACES = pd.Index(["aisle", "shelf", "window"], name="place")
COST = pd.Series([0.9, 1.1, 1.6, 1.9], index=JUICES)  # euro a bottle

USUAL = pd.Series([2.0, 2.4, 3.1, 3.6], index=JUICES)  # across the street
SPREAD = pd.Series([0.25, 0.30, 0.45, 0.55], index=JUICES)
BUYERS = pd.Series([900.0, 800.0, 420.0, 380.0], index=JUICES)
SIZE = pd.Series([0.8, 1.3, 1.0, 1.2], index=CITIES)
DEARER = pd.Series([-0.5, -0.1, 0.2, 0.5], index=CITIES)
STRANGERS = pd.Series([0.3, 0.6, 1.0, 1.4], index=CITIES)
LIFT = pd.DataFrame({"aisle": [0.1, 0.2, 0.3, 0.4], "shelf": 0.0, "window": [0.2, 0.3, 0.8, 1.0]}, index=JUICES)


def true_sales(price, juice, city, place):
    """Bottles a week, for columns of equal length."""
    lift = LIFT.to_numpy()[JUICES.get_indexer(juice), PLACES.get_indexer(place)] * STRANGERS[city].to_numpy()
    seen = BUYERS[juice].to_numpy() * SIZE[city].to_numpy() * (1.0 + lift)
    too_dear = (price - USUAL[juice].to_numpy() - DEARER[city].to_numpy()) / SPREAD[juice].to_numpy()
    return seen / (1.0 + np.exp(too_dear))


rng = np.random.default_rng(0)
records = pd.DataFrame(
    {
        "price": rng.uniform(0.8, 5.2, 4000),
        "juice": rng.choice(JUICES, 4000),
        "city": rng.choice(CITIES, 4000),
        "place": rng.choice(PLACES, 4000),
    }
)
truth = true_sales(*(records[name] for name in records))
sold = truth * rng.lognormal(0.0, 0.08, 4000)
targets = np.column_stack([sold, sold * records["price"]])  # bottles, and what was taken for them in euro

# %%
# The pipeline
# ------------
#
# A small tanh network behind a column transformer, which scales the price and makes a column of each category. It has two outputs, bottles and takings:
# takings are price times bottles, and as a prediction they are linear in the model.

columns = make_column_transformer((StandardScaler(), ["price"]), (OneHotEncoder(), ["juice", "city", "place"]))
network = MLPRegressor(hidden_layer_sizes=(10, 10), activation="tanh", solver="lbfgs", alpha=1e-2, tol=3e-4, max_iter=3000, random_state=0)
pipeline = TransformedTargetRegressor(make_pipeline(columns, network), transformer=StandardScaler())
pipeline.fit(records, targets)
error = np.sqrt(np.mean((pipeline.predict(records)[:, 0] - truth) ** 2))
print(f"The pipeline is {error:.0f} bottles off the truth (root mean square), where {truth.mean():.0f} are sold on average.")

# %%
# The model
# ---------
#
# Inputs are given by name. A column with categories is an input for each of them, called as OneHotEncoder calls its columns. The place is a variable
# over places; juice and city are tables of zeros and ones. All inputs meet by their dimensions, so one call predicts the sales of every juice in
# every city.

model = linopy.Model()
price = model.add_variables(lower=COST, upper=1.4 * USUAL, coords=[JUICES, CITIES], name="price")
stands = model.add_variables(binary=True, coords=[JUICES, CITIES, PLACES], name="stands")

inputs = {"price": price}
inputs |= {f"place_{place}": stands.sel(place=place, drop=True) for place in PLACES}
inputs |= {f"juice_{juice}": pd.Series((juice == JUICES).astype(float), index=JUICES) for juice in JUICES}
inputs |= {f"city_{city}": pd.Series((city == CITIES).astype(float), index=CITIES) for city in CITIES}
predicted = dcembed.linopy.embed(model, pipeline, inputs, name="predicted").output
bottles, takings = predicted.isel(output=0, drop=True), predicted.isel(output=1, drop=True)

# What there is of each juice in a week.
STOCK = pd.Series([3000.0, 2400.0, 1600.0, 1500.0], index=JUICES)
model.add_constraints(bottles.sum("city") <= STOCK, name="stock")
# A juice has one place. A window has room for one juice, and so has the end of an aisle.
model.add_constraints(stands.sum("place") == 1, name="one place")
model.add_constraints(stands.sel(place=["aisle", "window"]).sum("juice") <= 1, name="room")
model.add_objective((takings - COST * bottles).sum(), sense="max")

# %%
# The obvious plan
# ----------------
#
# In every city the juice that sells most stands in the window and the next one at the end of the aisle. There is one list of prices for all
# cities: of each juice the best price, on a grid of cents, for which the stock lasts.


def week(prices, places):
    """A table with what the pipeline itself predicts of a week, for prices and places of all juices in all cities."""
    table = pd.DataFrame({"price": prices, "place": places}).reset_index()
    bottles, takings = pipeline.predict(table[list(records)]).T
    cost = COST[table["juice"]].to_numpy()
    return table.assign(bottles=bottles, takings=takings, profit=takings - cost * bottles)


everywhere = pd.MultiIndex.from_product([JUICES, CITIES])
usual_place = pd.Series(["window", "aisle", "shelf", "shelf"], index=JUICES).reindex(everywhere, level="juice")


def best_single_price(juice):
    """The week of one juice at its best price for all cities."""
    cities = pd.MultiIndex.from_product([[juice], CITIES], names=everywhere.names)
    weeks = [week(pd.Series(price, index=cities), usual_place[cities]) for price in np.arange(COST[juice], 1.4 * USUAL[juice], 0.02)]
    return max((sold for sold in weeks if sold["bottles"].sum() <= STOCK[juice]), key=lambda sold: sold["profit"].sum())


usual = pd.concat([best_single_price(juice) for juice in JUICES], ignore_index=True)
print(
    f"One list of prices, {usual.groupby('juice')['price'].first().round(2).to_dict()}: a profit of {usual['profit'].sum():,.0f} euro a week"
)

# %%
# The plan
# --------
#
# ``prove=True`` asks for a bound as well, and ``gap_tol=0.05`` is content when it shows that no plan earns more by over 5 %.

model.solve(time_limit=40, max_starts=1, prove=True, gap_tol=0.05)

# %%
# What it earns, and whether it is true
# -------------------------------------
#
# The pipeline is asked again, with a table of prices and categories as it was fitted on.

result = dcembed.linopy.result_of(model)
place = model.solution["stands"].idxmax("place").to_series()
plan = week(model.solution["price"].to_series(), place)
difference = np.abs(plan[["bottles", "takings"]].to_numpy() - model.solution["predicted"].to_numpy().reshape(-1, 2)).max()
print(
    f"The plan earns {model.objective.value:,.0f} euro a week, {model.objective.value / usual['profit'].sum() - 1:.0%} more ({model.termination_condition})."
)
print(f"No plan earns more than {result.bound:,.0f} euro, by the pipeline: the gap is {result.gap:.1%}.")
print(f"Largest difference from the pipeline's own predictions: {difference:.0e}")


def true_profit(week):
    """What the week really brings; what is not in stock is not sold."""
    wanted = true_sales(*(week[name] for name in records))
    there = np.minimum(1.0, (STOCK / pd.Series(wanted).groupby(week["juice"]).sum())[week["juice"]].to_numpy())
    return ((week["price"] - COST[week["juice"]].to_numpy()) * wanted * there).sum()


print(f"In truth the plan earns {true_profit(plan):,.0f} euro, and one list of prices {true_profit(usual):,.0f} euro.")
print(plan.pivot(index="juice", columns="city", values="price").loc[JUICES, CITIES].round(2))

# %%
# Each city has its own prices, and the window is not for the same juice everywhere.

COLORS = {"window": "#e08e0b", "aisle": "#8fbbe0", "shelf": "#eceff3"}
figure, axes = plt.subplots(figsize=(9, 4), layout="constrained")
for row in plan.itertuples():
    x, y = CITIES.get_loc(row.city), JUICES.get_loc(row.juice)
    axes.add_patch(plt.Rectangle((x - 0.48, y - 0.46), 0.96, 0.92, color=COLORS[row.place]))
    axes.text(x, y, f"{row.price:.2f} euro\n{row.bottles:.0f} bottles", ha="center", va="center")
axes.set(xlim=(-0.5, len(CITIES) - 0.5), ylim=(len(JUICES) - 0.5, -0.5), xticks=range(len(CITIES)), xticklabels=CITIES)
axes.set(yticks=range(len(JUICES)), yticklabels=JUICES, title="prices, places and weekly sales of the plan")
axes.legend([plt.Rectangle((0, 0), 1, 1, color=color) for color in COLORS.values()], COLORS, loc="upper left", bbox_to_anchor=(1.0, 1.0))
axes.spines[:].set_visible(False)
axes.tick_params(length=0)
plt.show()

# %%
# Profit by the price of each juice on the coast, in each of its places, as the pipeline predicts it. One list of prices is too cheap for the coast,
# and puts the juice into the window that gains least there.

figure, panels = plt.subplots(1, len(JUICES), figsize=(12, 3.6), layout="constrained")
for panel, juice in zip(panels, JUICES, strict=True):
    asked = np.linspace(COST[juice], 1.4 * USUAL[juice], 200)
    for kind, color in {**COLORS, "shelf": "#9aa5b1"}.items():
        table = pd.DataFrame({"price": asked, "juice": juice, "city": "coast", "place": kind})
        sales, taken = pipeline.predict(table).T
        panel.plot(asked, taken - COST[juice] * sales, color=color, label=kind)
    for chosen, style in (
        (plan, {"marker": "*", "markersize": 16, "color": "crimson", "label": "the plan"}),
        (usual, {"marker": "x", "color": "black", "label": "one list"}),
    ):
        row = chosen[(chosen["juice"] == juice) & (chosen["city"] == "coast")].iloc[0]
        panel.plot(row["price"], row["profit"], linestyle="", **style)
    panel.axhline(0.0, color="black", linewidth=0.5)
    panel.set(title=juice, xlabel="price (euro)", ylim=(-50, None))
panels[0].set_ylabel("profit (euro a week)")
panels[-1].legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
plt.show()
