"""A classifier is embedded as its class, its probability or its scores, as `output_type` says; scikit-learn checks the answer."""

from __future__ import annotations

import copy

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not installed")

from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from tests.frontends.learned import classifier, linear_classifier, named_pipeline
from tests.frontends.tools import TOOLS, Gurobi, Scip

from dcembed import build_mlp, load_network
from dcembed.errors import InputError, NetworkError, UnsupportedLayerError
from dcembed.frontends.classes import MARGIN, class_rules, classes_of
from dcembed.frontends.gurobipy_ import extract
from dcembed.frontends.gurobipy_optimize import find_start
from dcembed.frontends.pyscipopt_predictor import registry

# What scikit-learn must say where the outputs are demanded to be these.
DEMANDS = [
    ("two", [1.0], "yes"),
    ("two", [0.0], "no"),
    ("three", [0.0, 0.0, 1.0], 2),
    ("labels", [1.0, 0.0], [1, 0]),
]


def nearest(tool, kind, demand, outputs=None, **keywords):
    """The point nearest to a corner, in the sum of distances, that is of a class: it lies on the edge of the class."""
    host = tool()
    x = [host.var(-1.0, 1.0) for _ in range(2)]
    away = [host.var(0.0, None) for _ in range(2)]
    corner = {"no": (1, 1), "yes": (-1, -1), 2: (-1, -1)}.get(demand if not isinstance(demand, list) else None, (1, -1))
    for variable, distance, place in zip(x, away, corner, strict=True):
        host.add(distance >= variable - place)
        host.add(distance >= place - variable)
    embedded = host.embed(classifier(kind), x, outputs and outputs(host), output_type="classification", **keywords)
    return host, x, away, embedded


@pytest.mark.parametrize(("kind", "outputs", "label"), DEMANDS)
@pytest.mark.parametrize("tool", TOOLS)
def test_the_class_is_what_scikit_learn_says(tool, kind, outputs, label):
    host, x, away, embedded = nearest(tool, kind, label)
    assert embedded.output.shape == (1, len(outputs))
    for variable, value in zip(np.array(embedded.output.tolist(), dtype=object).reshape(-1), outputs, strict=True):
        host.add(variable == value)
    result = host.minimize(away[0] + away[1], max_starts=2, seed=1)
    assert result.is_feasible
    point = np.array([[host.value(variable) for variable in x]])
    assert np.array_equal(classifier(kind).predict(point)[0], label)
    assert embedded.output_values == pytest.approx(np.array([outputs]), abs=1e-6)
    assert embedded.get_error().max() <= 1e-6
    # At the edge of the class, not inside it: the binaries cut off nothing but the margin.
    scores = load_network(classifier(kind))(point)[0]
    lead = np.abs(scores).min() if kind != "three" else np.sort(scores)[-1] - np.sort(scores)[-2]
    at_corner = result.objective < 1e-6
    assert at_corner or lead == pytest.approx(MARGIN, abs=5e-5)


@pytest.mark.parametrize("tool", TOOLS)
def test_given_outputs_of_any_type_are_the_class_and_may_be_in_the_objective(tool):
    host, _, away, embedded = nearest(tool, "three", 2, lambda host: [host.var(None, None) for _ in range(3)])
    outputs = np.array(embedded.output.tolist(), dtype=object).reshape(-1)
    host.minimize(away[0] + away[1] - 10.0 * outputs[2], seed=1)
    assert [host.value(output) for output in outputs] == pytest.approx([0.0, 0.0, 1.0], abs=1e-6)
    assert embedded.get_error().max() <= 1e-6


@pytest.mark.parametrize("tool", TOOLS)
def test_epsilon_is_the_margin(tool):
    host, x, away, embedded = nearest(tool, "two", "yes", epsilon=0.5)
    host.add(np.array(embedded.output.tolist(), dtype=object)[0, 0] == 1)
    host.minimize(away[0] + away[1], seed=1)
    score = load_network(classifier("two"))([[host.value(variable) for variable in x]])[0, 0]
    assert score == pytest.approx(0.5, abs=1e-3)
    for wrong in (-1.0, "wide", np.nan):
        with pytest.raises(InputError, match=f"epsilon is {wrong!r}"):
            nearest(tool, "two", "yes", epsilon=wrong)


@pytest.mark.parametrize("tool", TOOLS)
def test_several_evaluations_have_a_class_each(tool):
    host = tool()
    points = np.array([[-0.9, -0.9], [0.9, 0.9], [0.0, -0.8]])
    embedded = host.embed(classifier("three"), [[host.var(v, v) for v in row] for row in points], output_type="classification")
    host.minimize(host.var(0, 1), seed=1)
    assert embedded.output_values.argmax(axis=1).tolist() == classifier("three").predict(points).tolist()
    assert embedded.get_error().max() <= 1e-6


@pytest.mark.parametrize("kind", ["logistic two", "logistic three", "margin two", "margin three", "margin labels"])
@pytest.mark.parametrize("tool", TOOLS)
def test_linear_classifiers_have_classes_too(tool, kind):
    host, model = tool(), linear_classifier(kind)
    points = np.array([[-0.9, -0.8], [0.9, 0.7], [0.1, -0.8]])
    embedded = host.embed(model, [[host.var(v, v) for v in row] for row in points], output_type="classification")
    host.minimize(host.var(0, 1), seed=1)
    said = model.predict(points)
    wanted = said if said.ndim == 2 else (said[:, None] == model.classes_[-embedded.output.shape[1] :]).astype(float)
    assert embedded.output_values == pytest.approx(wanted, abs=1e-6)
    assert embedded.get_error().max() <= 1e-6
    if kind.startswith("margin"):
        host = tool()
        with pytest.raises(InputError, match="have no probabilities"):
            host.embed(model, [host.var(0, 1), host.var(0, 1)], output_type="probability")


@pytest.mark.parametrize("tool", TOOLS)
def test_the_probability_of_a_logistic_regression_is_exact(tool):
    host, model = tool(), linear_classifier("logistic two")
    x = [host.var(-1.0, 1.0) for _ in range(2)]
    embedded = host.embed(model, x, [host.var(0.7, 1.0)], output_type="probability")
    host.minimize(x[0] + 2 * x[1], seed=1)
    assert model.predict_proba([[host.value(variable) for variable in x]])[0, 1] == pytest.approx(0.7, abs=1e-4)
    assert embedded.get_error().max() <= 1e-6


@pytest.mark.parametrize("tool", TOOLS)
def test_a_classifier_must_be_told_what_its_outputs_are(tool):
    host = tool()
    x = [host.var(-1, 1) for _ in range(2)]
    for kind in ("two", "three", "labels"):
        for given in ({}, {"output_type": "regression"}):
            with pytest.raises(InputError, match=r"is a classifier, and what its outputs stand for must be said.*'classification'.*'raw'"):
                host.embed(classifier(kind), x, **given)
    with pytest.raises(InputError, match=r"output_type is 'klass'. Accepted"):
        host.embed(classifier("two"), x, output_type="klass")
    with pytest.raises(InputError, match="no classifier"):
        host.embed(named_pipeline(), [host.var(0, 1) for _ in range(3)], output_type="classification")
    with pytest.raises(InputError, match="gives no probabilities"):
        host.embed(load_network(classifier("two")), x, output_type="probability")
    with pytest.raises(InputError, match="single output"):
        host.embed(load_network(classifier("two")), x, output_type="classification")


@pytest.mark.parametrize("tool", TOOLS)
def test_a_classifier_that_cannot_be_read_is_named_whatever_the_output_type(tool):
    host = tool()
    x = [host.var(-1, 1) for _ in range(2)]
    bayes = GaussianNB().fit([[0.0, 0.0], [1.0, 1.0]], [0, 1])
    for model, error in ((bayes, UnsupportedLayerError), (MLPClassifier(), NetworkError), (LogisticRegression(), NetworkError)):
        for given in (None, "classification", "probability"):
            with pytest.raises(error, match=type(model).__name__):
                host.embed(model, x, output_type=given)


@pytest.mark.parametrize("tool", TOOLS)
def test_raw_scores_are_those_before_the_softmax(tool):
    host = tool()
    embedded = host.embed(classifier("three"), [host.var(0.3, 0.3), host.var(-0.6, -0.6)], output_type="raw")
    host.minimize(host.var(0, 1), seed=1)
    assert embedded.output_values == pytest.approx(load_network(classifier("three"))([[0.3, -0.6]]), abs=1e-6)
    odds = np.exp(embedded.output_values)
    assert odds / odds.sum() == pytest.approx(classifier("three").predict_proba([[0.3, -0.6]]), abs=1e-6)
    assert embedded.get_error().max() <= 1e-6


@pytest.mark.parametrize("how", ["bound", "row"])
@pytest.mark.parametrize("tool", TOOLS)
def test_a_probability_that_is_only_bounded_is_exact(tool, how):
    host = tool()
    x = [host.var(-1.0, 1.0) for _ in range(2)]
    given = [host.var(0.8, 1.0)] if how == "bound" else None
    embedded = host.embed(classifier("two"), x, given, output_type="probability")
    if how == "row":
        host.add(2 * np.array(embedded.output.tolist(), dtype=object)[0, 0] >= 1.6)
    host.minimize(x[0] + 2 * x[1], seed=1)
    point = [[host.value(variable) for variable in x]]
    assert classifier("two").predict_proba(point)[0, 1] == pytest.approx(0.8, abs=1e-4)
    assert embedded.output_values == pytest.approx(classifier("two").predict_proba(point)[:, 1:], abs=1e-6)
    assert embedded.get_error().max() <= 1e-6


@pytest.mark.parametrize("tool", TOOLS)
def test_a_probability_that_is_used_otherwise_is_refused_by_name(tool):
    uses = {
        "is in the objective": lambda host, p, x: host.minimize(p + x),
        "is in a constraint with other variables": lambda host, p, x: (host.add(p + x <= 1), host.minimize(x)),
        "neither 0 nor 1": lambda host, p, x: (host.add(p >= 1), host.minimize(x)),
    }
    for message, use in uses.items():
        host = tool()
        x = [host.var(-1.0, 1.0) for _ in range(2)]
        embedded = host.embed(classifier("two"), x, output_type="probability")
        with pytest.raises(InputError, match=rf"probability.*{message}"):
            use(host, np.array(embedded.output.tolist(), dtype=object)[0, 0], x[0])


@pytest.mark.parametrize("tool", TOOLS)
def test_a_variable_is_the_probability_of_one_score(tool):
    """Each score would have the bounds of the probability, but nothing would make them equal."""
    linear = build_mlp([[[0.0, 0.0]]], [[0.5]])

    def two_classifiers(host, x, p):
        host.embed(classifier("two"), x, [p], output_type="probability")
        host.embed(classifier("two"), x[::-1], [p], output_type="probability")

    def two_rows(host, x, p):
        host.embed(classifier("two"), [x, x[::-1]], [[p], [p]], output_type="probability")

    def another_network(host, x, p):
        host.embed(classifier("two"), x, [p], output_type="probability")
        host.embed(linear, x, [p])

    for embed, message in (
        (two_classifiers, "belongs to several scores"),
        (two_rows, "belongs to several scores"),
        (another_network, "is an output of another network"),
    ):
        host = tool()
        x = [host.var(-1.0, 1.0) for _ in range(2)]
        embed(host, x, host.var(0.05, 0.95))
        with pytest.raises(InputError, match=rf"probability.*{message}.*a variable of its own"):
            host.minimize(x[0])


def test_scip_takes_no_point_with_another_probability():
    host = Scip()
    x = [host.var(-1.0, 1.0) for _ in range(2)]
    embedded = host.embed(classifier("two"), x, output_type="probability")
    score = float(embedded.network(np.zeros((1, 2)))[0, 0])
    right = float(classifier("two").predict_proba(np.zeros((1, 2)))[0, 1])
    for probability, holds in ((right, True), (right + 0.01, False)):
        point = host.model.createOrigSol()
        host.model.setSolVal(point, embedded.scores[0, 0], score)
        host.model.setSolVal(point, embedded.output[0, 0], probability)
        assert host.model.checkSol(point, original=True) == holds


def test_remove_of_classes_after_a_solve_is_done_whole_or_not_at_all():
    host = Scip()
    x = [host.var(-1.0, 1.0) for _ in range(2)]
    embedded = host.embed(classifier("two"), x, output_type="classification")
    host.minimize(x[0])
    with pytest.raises(InputError, match=r"remove: SCIP is in the stage SOLVED.*Nothing was changed\. Call scip\.freeTransform\(\)"):
        embedded.remove()
    host.model.freeTransform()
    assert registry(host.model) == [embedded]
    embedded.remove()
    assert registry(host.model) == []
    names = [constraint.name for constraint in host.model.getConss()]
    assert not [name for name in names if name.startswith(("p_one_class", "p_leads"))]


@pytest.mark.parametrize("tool", TOOLS)
def test_probabilities_of_several_classes_may_be_used_anywhere(tool):
    host = tool()
    x = [host.var(-1.0, 1.0) for _ in range(2)]
    embedded = host.embed(classifier("three"), x, output_type="probability")
    outputs = np.array(embedded.output.tolist(), dtype=object)[0]
    host.add(outputs[1] >= 0.4)
    # Far from the borders probabilities are flat, so that one start finds nothing.
    host.minimize(x[0] - outputs[2], seed=1, max_starts=8)
    point = [[host.value(variable) for variable in x]]
    assert embedded.output_values == pytest.approx(classifier("three").predict_proba(point), abs=1e-6)
    assert embedded.output_values[0, 1] >= 0.4 - 1e-5
    assert embedded.get_error().max() <= 1e-6


@pytest.mark.parametrize("tool", TOOLS)
def test_a_network_of_probabilities_may_be_in_the_objective(tool):
    host = tool()
    x = [host.var(-1.0, 1.0) for _ in range(2)]
    embedded = host.embed(load_network(classifier("two"), outputs="probabilities"), x)
    host.minimize(x[0] - 2 * np.array(embedded.output.tolist(), dtype=object)[0, 1], seed=1)
    point = [[host.value(variable) for variable in x]]
    assert embedded.output_values == pytest.approx(classifier("two").predict_proba(point), abs=1e-6)


@pytest.mark.parametrize("keyword", [{}, {"output_type": "probability"}])
def test_a_classifier_whose_output_activation_was_set_to_identity_gives_its_scores(keyword):
    """As scripts for gurobi-ml do it: predict_proba shows the scores then."""
    host, plain = Gurobi(), copy.deepcopy(classifier("three"))
    plain[-1].out_activation_ = "identity"
    embedded = host.embed(plain, [host.var(0.3, 0.3), host.var(-0.6, -0.6)], **keyword)
    host.minimize(host.var(0, 1), seed=1)
    assert embedded.output_values == pytest.approx(plain.predict_proba([[0.3, -0.6]]), abs=1e-6)
    with pytest.raises(InputError, match="cannot be told from its scores"):
        host.embed(plain, [host.var(0, 1), host.var(0, 1)], output_type="classification")


def test_what_classes_add_to_a_gurobi_model_is_listed_and_taken_out_again():
    host = Gurobi()
    x = [host.var(-1.0, 1.0) for _ in range(2)]
    embedded = host.embed(classifier("three"), x, output_type="classification")
    model = host.model
    counts = len(embedded.vars) + 2, len(embedded.constrs), len(embedded.genconstrs), len(embedded.sos), len(embedded.qconstrs)
    assert (model.NumVars, model.NumConstrs, model.NumGenConstrs, model.NumSOS, model.NumQConstrs) == counts == (8, 1, 6, 1, 0)
    embedded.remove()
    assert (model.NumVars, model.NumConstrs, model.NumGenConstrs, model.NumSOS) == (2, 0, 0, 0)
    assert embedded.vars == embedded.constrs == embedded.genconstrs == embedded.qconstrs == embedded.sos == []


def test_a_start_on_the_variables_of_the_user_is_enough():
    host = Gurobi()
    x = [host.var(-1.0, 1.0) for _ in range(2)]
    host.embed(classifier("two"), x, output_type="classification")
    assert find_start(extract(host.model)) is None
    for variable in x:
        variable.Start = 0.25
    host.model.update()
    (start,) = find_start(extract(host.model))
    assert start[:2].tolist() == [0.25, 0.25]


@pytest.mark.parametrize(
    ("tool", "words"), [(Gurobi, "6 variables, 4 binaries and 6 constraints added"), (Scip, "Variables created: 6, binaries 4")]
)
def test_print_stats_counts_the_binaries(tool, words, capsys):
    host = tool()
    host.embed(classifier("labels"), [host.var(-1, 1) for _ in range(2)], output_type="classification").print_stats()
    assert words in capsys.readouterr().out


def test_ties_are_broken_as_scikit_learn_does():
    assert classes_of(np.array([[0.0], [1e-9]]), False).tolist() == [[0.0], [1.0]]
    assert classes_of(np.array([[2.0, 2.0, 1.0]]), True).tolist() == [[1.0, 0.0, 0.0]]


def test_the_rules_allow_a_class_just_where_its_score_leads():
    scores = np.random.default_rng(0).normal(size=(200, 3))
    for argmax in (True, False):
        rules = class_rules(3, argmax, 0.0)
        held = scores @ rules.gain.T >= rules.margin
        allowed = np.array([[held[i, rules.binary == b].all() for b in range(rules.num_outputs)] for i in range(len(scores))])
        assert np.array_equal(allowed, classes_of(scores, argmax) == 1)
