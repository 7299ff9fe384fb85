"""Regressors on transformed targets."""

from __future__ import annotations

from typing import Any

from dcembed.importers.operations import Unsupported
from dcembed.importers.sklearn_ import interpolation, power_transforms, scalers
from dcembed.importers.sklearn_.compositions import is_identity
from dcembed.importers.sklearn_.functions import apply_function
from dcembed.importers.sklearn_.walk import Method, Walk, find, require_fitted
from dcembed.network.builder import NetworkBuilder, Tensor

INVERSE = {**scalers.INVERSE, **interpolation.INVERSE, **power_transforms.INVERSE}


def transformed_target(walk: Walk, method: Method, model: Any, frame: Any) -> Any:
    """The regressor, then the inverse of the transformation of its target."""
    require_fitted(model, walk.path or type(model).__name__)
    result = walk.run(method, model.regressor_, frame, "regressor")
    return walk.apply(undo, model.transformer_, result, "transformer")


def undo(builder: NetworkBuilder, transformer: Any, value: Tensor) -> Tensor:
    """The inverse of a transformer."""
    if type(transformer).__name__ == "Pipeline":
        for _, step in reversed(transformer.steps):
            value = value if is_identity(step) else undo(builder, step, value)
        return value
    if type(transformer).__name__ == "FunctionTransformer":
        return apply_function(builder, transformer.inverse_func, transformer.inv_kw_args, value)
    handler = find(INVERSE, transformer)
    if handler is None:
        raise Unsupported(f"transforms the target; accepted are {', '.join(INVERSE)} and functions of numpy with their inverses")
    result: Tensor = handler(builder, transformer, value)
    return result


COMPOSITES = {"TransformedTargetRegressor": transformed_target}
