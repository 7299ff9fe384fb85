"""Rows of estimators of scikit-learn, and of the operators that converters write for them."""

from __future__ import annotations

from docs.what_goes_in.rows import Row, Section

ESTIMATORS = (
    Section(
        "Preprocessing",
        (
            Row(
                "scaling",
                onnx="Scaler Normalizer",
                keras="Normalization Rescaling",
                sklearn="StandardScaler MinMaxScaler MaxAbsScaler RobustScaler Normalizer PowerTransformer QuantileTransformer",
            ),
            Row("products of features", sklearn="PolynomialFeatures"),
            Row(
                "projections",
                sklearn="PCA IncrementalPCA SparsePCA MiniBatchSparsePCA TruncatedSVD FastICA FactorAnalysis FeatureAgglomeration "
                "GaussianRandomProjection SparseRandomProjection NeighborhoodComponentsAnalysis PLSSVD",
            ),
            Row(
                "choice of columns",
                onnx="ArrayFeatureExtractor FeatureVectorizer",
                sklearn="SelectKBest SelectPercentile SelectFpr SelectFdr SelectFwe GenericUnivariateSelect SelectFromModel "
                "SequentialFeatureSelector VarianceThreshold RFE RFECV",
            ),
            Row(
                "categories",
                sklearn="OneHotEncoder OrdinalEncoder TargetEncoder",
                note="one input for each category, which binary variables choose",
            ),
            Row(
                "missing values",
                onnx="Imputer",
                sklearn="SimpleImputer KNNImputer IterativeImputer MissingIndicator",
                note="nothing is missing in an optimization model",
            ),
            Row("functions", sklearn="FunctionTransformer", note="of numpy, where they are continuous"),
            Row("kernel features", sklearn="Nystroem KernelPCA RBFSampler"),
        ),
    ),
    Section(
        "Linear models, networks and kernels",
        (
            Row(
                "linear regression",
                onnx="LinearRegressor",
                sklearn="LinearRegression Ridge RidgeCV Lasso LassoCV LassoLars LassoLarsCV LassoLarsIC Lars LarsCV ElasticNet ElasticNetCV "
                "MultiTaskLasso MultiTaskLassoCV MultiTaskElasticNet MultiTaskElasticNetCV OrthogonalMatchingPursuit "
                "OrthogonalMatchingPursuitCV BayesianRidge ARDRegression HuberRegressor QuantileRegressor TheilSenRegressor SGDRegressor "
                "PassiveAggressiveRegressor LinearSVR PLSRegression PLSCanonical CCA DummyRegressor",
            ),
            Row("with a link", sklearn="PoissonRegressor GammaRegressor TweedieRegressor"),
            Row(
                "linear classifiers",
                onnx="LinearClassifier",
                sklearn="LogisticRegression LogisticRegressionCV RidgeClassifier RidgeClassifierCV LinearSVC SGDClassifier Perceptron "
                "PassiveAggressiveClassifier LinearDiscriminantAnalysis",
                note='scores; outputs="probabilities" where there are some',
            ),
            Row("networks", sklearn="MLPRegressor MLPClassifier", note="all activations"),
            Row("piecewise linear", sklearn="IsotonicRegression"),
            Row(
                "kernels and vectors",
                sklearn="SVR NuSVR SVC NuSVC OneClassSVM KernelRidge GaussianProcessRegressor",
                note="the mean of a Gaussian process",
            ),
        ),
    ),
    Section(
        "Compositions and ensembles",
        (
            Row("in a row, side by side", sklearn="Pipeline FeatureUnion ColumnTransformer TransformedTargetRegressor"),
            Row(
                "what is inside",
                sklearn="GridSearchCV RandomizedSearchCV HalvingGridSearchCV HalvingRandomSearchCV RANSACRegressor SelfTrainingClassifier "
                "FrozenEstimator",
            ),
            Row(
                "of accepted models",
                sklearn="VotingRegressor VotingClassifier BaggingRegressor BaggingClassifier StackingRegressor StackingClassifier "
                "MultiOutputRegressor RegressorChain OneVsRestClassifier",
            ),
        ),
    ),
)
