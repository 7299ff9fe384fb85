"""Transformers of scikit-learn, one of every kind that is read."""

from __future__ import annotations

import numpy as np
from scipy.special import expit
from sklearn.cluster import FeatureAgglomeration
from sklearn.compose import ColumnTransformer
from sklearn.cross_decomposition import CCA, PLSSVD, PLSCanonical, PLSRegression
from sklearn.decomposition import PCA, FactorAnalysis, FastICA, IncrementalPCA, KernelPCA, MiniBatchSparsePCA, SparsePCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.experimental import enable_halving_search_cv, enable_iterative_imputer  # noqa: F401
from sklearn.feature_selection import (
    GenericUnivariateSelect,
    SelectFdr,
    SelectFpr,
    SelectFromModel,
    SelectFwe,
    SelectKBest,
    SelectPercentile,
    SequentialFeatureSelector,
    VarianceThreshold,
    f_regression,
)
from sklearn.impute import IterativeImputer, KNNImputer, MissingIndicator, SimpleImputer
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import Ridge
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from sklearn.pipeline import FeatureUnion, make_pipeline, make_union
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.random_projection import GaussianRandomProjection, SparseRandomProjection

TRANSFORMERS = {
    "standard": StandardScaler(),
    "standard without mean": StandardScaler(with_mean=False),
    "standard without std": StandardScaler(with_std=False),
    "min-max": MinMaxScaler((-1, 2)),
    "min-max clip": MinMaxScaler(clip=True),
    "robust": RobustScaler(),
    "robust without center": RobustScaler(with_centering=False, quantile_range=(10, 90)),
    "max-abs": MaxAbsScaler(),
    **{f"polynomial {degree}": PolynomialFeatures(degree) for degree in (1, 2, 3, 4, (2, 3))},
    "polynomial interactions": PolynomialFeatures(3, interaction_only=True, include_bias=False),
    "yeo-johnson": PowerTransformer(),
    "yeo-johnson raw": PowerTransformer(standardize=False),
    "quantiles": QuantileTransformer(n_quantiles=30),
    "pca": PCA(2),
    "pca whitened": PCA(3, whiten=True),
    "incremental pca": IncrementalPCA(2),
    "svd": TruncatedSVD(2),
    "factors": FactorAnalysis(2),
    "ica": FastICA(2, random_state=0),
    "ica without whitening": FastICA(whiten=False, random_state=0),
    "sparse pca": SparsePCA(2, random_state=0),
    "mini-batch sparse pca": MiniBatchSparsePCA(2, random_state=0),
    "gaussian projection": GaussianRandomProjection(3, random_state=0),
    "sparse projection": SparseRandomProjection(3, random_state=0, density=0.5),
    "agglomeration": FeatureAgglomeration(2),
    "components of neighbourhoods": (NeighborhoodComponentsAnalysis(2, random_state=0, max_iter=5), "three"),
    "discriminants": (make_union(LinearDiscriminantAnalysis()), "three"),
    "discriminants by eigenvectors": (make_union(LinearDiscriminantAnalysis(solver="eigen", n_components=1)), "three"),
    "latent variables": (make_pipeline(StandardScaler(), make_union(PLSRegression(2), PLSCanonical(1), CCA(1))), "numbers"),
    "latent variables by svd": (PLSSVD(2), "numbers"),
    "best columns": SelectKBest(f_regression, k=2),
    "percentile": SelectPercentile(f_regression, percentile=50),
    "false positives": SelectFpr(f_regression, alpha=0.5),
    "false discoveries": SelectFdr(f_regression, alpha=0.5),
    "family-wise": SelectFwe(f_regression, alpha=0.5),
    "univariate": GenericUnivariateSelect(f_regression, mode="k_best", param=3),
    "from a model": SelectFromModel(Ridge()),
    "sequential": SequentialFeatureSelector(Ridge(), n_features_to_select=2, cv=2),
    "variance": VarianceThreshold(2.0),
    "kernel components": KernelPCA(3, kernel="rbf", gamma=0.2),
    "nystroem": Nystroem(gamma=0.2, n_components=10, random_state=0),
    "random waves": RBFSampler(gamma=0.3, n_components=12, random_state=0),
    "identity": FunctionTransformer(),
    **{
        f"function {function.__name__}": FunctionTransformer(function)
        for function in (
            np.exp,
            np.expm1,
            np.exp2,
            np.square,
            np.sin,
            np.cos,
            np.sinh,
            np.cosh,
            np.tanh,
            np.arctan,
            np.abs,
            np.negative,
            expit,
        )
    },
    "union": FeatureUnion([("a", StandardScaler()), ("b", "drop"), ("c", PCA(2)), ("d", "passthrough")], transformer_weights={"c": 3.0}),
    "nested union": make_union(make_pipeline(StandardScaler(), PolynomialFeatures(2)), MinMaxScaler()),
    "columns by position": ColumnTransformer([("a", StandardScaler(), [0, -1]), ("b", "passthrough", [1])]),
    "columns by slice": ColumnTransformer([("a", StandardScaler(), slice(1, 3))], remainder="passthrough"),
    "columns by mask": ColumnTransformer([("a", StandardScaler(), [True, False, False, True])], remainder=MinMaxScaler()),
    "columns by function": ColumnTransformer(
        [("a", StandardScaler(), lambda data: [2, 0]), ("b", PCA(1), [1, 2])], transformer_weights={"b": 0.5}
    ),
    "columns dropped": ColumnTransformer(
        [("a", "drop", [0]), ("b", StandardScaler(), [1]), ("c", StandardScaler(), [])], sparse_threshold=0
    ),
    "columns inside columns": ColumnTransformer(
        [("a", ColumnTransformer([("b", StandardScaler(), [1])], remainder="passthrough"), [3, 0])]
    ),
}
# On positive columns alone.
POSITIVE_TRANSFORMERS = {
    "box-cox": PowerTransformer("box-cox"),
    **{f"function {function.__name__}": FunctionTransformer(function) for function in (np.log, np.log1p, np.log2, np.log10, np.sqrt)},
}
# Fitted where values are missing.
IMPUTERS = {
    "simple imputer": SimpleImputer(),
    "simple imputer with indicator": SimpleImputer(add_indicator=True),
    "nearest imputer": KNNImputer(),
    "iterative imputer": IterativeImputer(random_state=0, max_iter=2),
    "indicator": MissingIndicator(),
    "imputer and scaler": make_pipeline(SimpleImputer(strategy="median"), StandardScaler()),
}
