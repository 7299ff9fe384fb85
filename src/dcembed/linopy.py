"""Networks in linopy models: `embed` one, then `solve`.

Examples
--------
>>> import linopy, pandas
>>> import dcembed.linopy
>>> model = linopy.Model()
>>> hours = pandas.RangeIndex(24, name="hour")
>>> power = model.add_variables(lower=0, upper=5, coords=[hours], name="power")
>>> heat = dcembed.linopy.embed(model, network, [power, outdoor]).output  # doctest: +SKIP
>>> model.add_objective((price * power).sum())  # doctest: +SKIP
>>> result = dcembed.linopy.solve(model, time_limit=60)  # doctest: +SKIP
>>> heat.solution  # doctest: +SKIP
"""

from dcembed.errors import NoSolutionError
from dcembed.frontends.contract import Extraction
from dcembed.frontends.packages import missing_package

try:
    from dcembed.frontends.linopy_ import extract, restore
    from dcembed.frontends.linopy_embed import EmbeddedNetwork, embed
    from dcembed.frontends.linopy_model import EmbeddedModel
    from dcembed.frontends.linopy_solve import result_of, solve
except ModuleNotFoundError as error:
    raise missing_package(error, "linopy", "linopy") from None

__all__ = ["EmbeddedModel", "EmbeddedNetwork", "Extraction", "NoSolutionError", "embed", "extract", "restore", "result_of", "solve"]
