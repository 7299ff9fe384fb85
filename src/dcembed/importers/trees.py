"""Trees, forests and boosted trees are recognised by their classes, in order to say who embeds them: they are piecewise constant."""

from __future__ import annotations

from typing import Any

# Packages of nothing else.
PACKAGES = ("lightgbm", "xgboost", "catboost", "ngboost")
# Classes of scikit-learn are known by the modules that they are in.
MODULES = ("sklearn.tree", "sklearn.ensemble._forest", "sklearn.ensemble._gb", "sklearn.ensemble._hist_gradient_boosting")
OTHERS = ("AdaBoostClassifier", "IsolationForest", "RandomTreesEmbedding")

WHO_DOES = (
    "is piecewise constant: trees have no slopes to follow. Use gurobi-machinelearning, PySCIPOpt-ML or OMLT (gradient-boosted trees), or "
    "ENTMOOT, which embed trees with binaries; or train a network on the predictions of the trees"
)


def why_not_trees(model: Any) -> str | None:
    """The reason not to embed a model, if it is made of trees."""
    for kind in type(model).__mro__:
        module = kind.__module__
        if module.partition(".")[0] in PACKAGES or any(module == name or module.startswith(f"{name}.") for name in MODULES):
            return WHO_DOES
        if module.partition(".")[0] == "sklearn" and kind.__name__ in OTHERS:
            return WHO_DOES
    return None
