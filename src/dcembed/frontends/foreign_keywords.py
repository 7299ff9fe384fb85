"""Keywords that scripts for gurobi-ml and PySCIPOpt-ML pass along: accepted, and ignored with one warning.

Nearly all of them choose how hidden units are written into the model, or what is recorded about them. Here no unit enters it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dcembed.errors import OptionError
from dcembed.frontends.messages import warn_user

GUROBI_ML = frozenset(
    (
        "activation",
        "activation_models",
        "clean_predictor",
        "epsilon",
        "float_type",
        "formulation",
        "model_function",
        "name",
        "no_debug",
        "no_record",
        "out_activation_",
        "output_type",
        "predict_function",
        "pwl_attributes",
        "relu_formulation",
        "safety_floor",
        "soft_relu_beta",
        "validate_input",
        "verbose",
    )
)
PYSCIPOPT_ML = frozenset(("activation_only", "epsilon", "formulation", "output_type", "skip_validate", "unique_naming_prefix"))


def ignore_foreign(keywords: Mapping[str, object], own: Iterable[str], function: str = "add_predictor_constr") -> None:
    """Warn of keywords that mean nothing here; OptionError for those that mean nothing to the two packages either.

    Parameters
    ----------
    keywords
        Those that are left after our own were taken.
    own
        The arguments of the function, for the message.
    """
    unknown = sorted(set(keywords) - GUROBI_ML - PYSCIPOPT_ML)
    if unknown:
        raise OptionError(
            f"{function}: unknown argument {unknown[0]!r}. Accepted: {', '.join(own)}. "
            "Other keywords of gurobi-ml and PySCIPOpt-ML are accepted too, and ignored."
        )
    if keywords:
        plural = len(keywords) > 1
        warn_user(
            f"{function}: {', '.join(sorted(keywords))} {'are' if plural else 'is'} ignored: no hidden unit enters the model, and the "
            "network is embedded with its own activations, in double precision."
        )
