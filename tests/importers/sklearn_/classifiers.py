"""Classifiers of scikit-learn, one of every kind that is read."""

from __future__ import annotations

from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV, Perceptron, RidgeClassifier, RidgeClassifierCV, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.semi_supervised import SelfTrainingClassifier
from sklearn.svm import SVC, LinearSVC, NuSVC, OneClassSVM

from .data import mlp, older

CLASSIFIERS = {
    **{f"mlp of {target}": (mlp(MLPClassifier, activation="tanh"), target) for target in ("two", "three", "labels")},
    **{f"logistic of {target}": (LogisticRegression(), target) for target in ("two", "three")},
    "logistic cv": (LogisticRegressionCV(cv=2), "three"),
    "sgd of two": (SGDClassifier(loss="log_loss", random_state=0), "two"),
    "sgd of three": (make_pipeline(StandardScaler(), SGDClassifier(loss="log_loss", alpha=0.1, random_state=0)), "three"),
    **{f"discriminants of {target}": (LinearDiscriminantAnalysis(), target) for target in ("two", "three")},
    "pipeline": (make_pipeline(StandardScaler(), PolynomialFeatures(2), LogisticRegression()), "two"),
    "grid search": (GridSearchCV(make_pipeline(StandardScaler(), mlp(MLPClassifier)), {"mlpclassifier__alpha": [0.1, 1.0]}, cv=2), "three"),
    "stacking": (StackingClassifier([("a", LogisticRegression()), ("b", LinearSVC())], final_estimator=LogisticRegression(), cv=2), "two"),
    "stacking of three": (StackingClassifier([("a", LogisticRegression()), ("b", mlp(MLPClassifier))], cv=2, passthrough=True), "three"),
    "self-training": (SelfTrainingClassifier(LogisticRegression()), "half"),
}
# Those without probabilities.
SCORES = {
    **{f"ridge of {target}": (RidgeClassifier(), target) for target in ("two", "three")},
    "ridge cv": (RidgeClassifierCV(), "two"),
    **{f"linear svc of {target}": (LinearSVC(), target) for target in ("two", "three")},
    "sgd hinge": (SGDClassifier(random_state=0), "two"),
    "perceptron": (Perceptron(random_state=0), "three"),
    **{kind.__name__: (kind(random_state=0), "two") for kind in older("PassiveAggressiveClassifier")},
    "svc": (SVC(), "two"),
    "nu-svc": (NuSVC(kernel="poly"), "two"),
    "one against the rest": (OneVsRestClassifier(SVC()), "three"),
    "novelty": (OneClassSVM(gamma=0.3), "number"),
}
# Those with nothing but probabilities.
PROBABILITIES = {
    "soft votes": (VotingClassifier([("a", LogisticRegression()), ("b", mlp(MLPClassifier))], voting="soft", weights=[2, 1]), "three"),
    "bagging": (BaggingClassifier(LogisticRegression(), n_estimators=3, random_state=0, max_features=0.5), "two"),
}
