"""All estimators of scikit-learn that are known, by method."""

from __future__ import annotations

from dcembed.importers.sklearn_ import (
    classifiers,
    compositions,
    encoders,
    ensembles,
    gaussian_processes,
    imputers,
    interpolation,
    kernel_machines,
    linear,
    mlp,
    polynomials,
    power_transforms,
    projections,
    refusals,
    scalers,
    selectors,
    targets,
    wrappers,
)
from dcembed.importers.sklearn_.walk import Handler, Tables

SCORES: dict[str, Handler] = {"MLPClassifier": mlp.scores, **linear.SCORES, **kernel_machines.SCORES}


def _with_link(scores: Handler) -> Handler:
    return lambda builder, model, value: classifiers.probabilities(builder, model, scores(builder, model, value))


TABLES = Tables(
    methods={
        "predict": {
            "MLPRegressor": mlp.predict,
            **linear.PREDICT,
            **interpolation.PREDICT,
            **kernel_machines.PREDICT,
            **gaussian_processes.PREDICT,
        },
        "scores": SCORES,
        "probabilities": {name: _with_link(scores) for name, scores in SCORES.items()},
        "transform": {
            **scalers.TRANSFORM,
            **projections.TRANSFORM,
            **polynomials.TRANSFORM,
            **power_transforms.TRANSFORM,
            **interpolation.TRANSFORM,
            **kernel_machines.TRANSFORM,
            **linear.TRANSFORM,
        },
    },
    columns={**selectors.COLUMNS, **imputers.COLUMNS, **encoders.COLUMNS},
    composites={**compositions.COMPOSITES, **wrappers.COMPOSITES, **ensembles.COMPOSITES, **targets.COMPOSITES},
    refusals=refusals.why_not,
)
