"""The estimators: scikit-learn's own checks, its objective, its tools."""

import pickle
import warnings

import numpy as np
import pytest
from conftest import judge

sklearn = judge("sklearn")
import scipy.sparse  # noqa: E402
from sklearn.datasets import load_digits, load_iris, make_classification  # noqa: E402
from sklearn.exceptions import ConvergenceWarning  # noqa: E402
from sklearn.model_selection import GridSearchCV, cross_val_score  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402
from sklearn.svm import LinearSVC  # noqa: E402
from sklearn.utils.estimator_checks import parametrize_with_checks  # noqa: E402

import lwsvm  # noqa: E402
from lwsvm import LinearSVMClassifier, PiecewiseLinearClassifier  # noqa: E402


@parametrize_with_checks(
    [
        LinearSVMClassifier(max_epochs=200, gap=0.01, threads=1),
        PiecewiseLinearClassifier("dense16-relu", epochs=30, passes=1, batch=20, threads=1),
    ]
)
def test_scikit_learns_own_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        check(estimator)


def objective(X, y, coef, intercept, lam):
    scores = X @ coef.T + intercept
    own = scores[np.arange(len(y)), y][:, None]
    margins = 1.0 - np.eye(coef.shape[0])[y]
    return 0.5 * lam * ((coef**2).sum() + (intercept**2).sum()) + (scores - own + margins).max(axis=1).mean()


@pytest.mark.parametrize("lam", [1.0, 0.03, 0.001])
def test_it_reaches_the_objective_of_linear_svc(lam):
    X, y = load_iris(return_X_y=True)
    X = StandardScaler().fit_transform(X).astype(np.float32)
    ours = LinearSVMClassifier(lam, gap=1e-4).fit(X, y)
    theirs = LinearSVC(multi_class="crammer_singer", C=1 / (lam * len(y)), tol=1e-4, max_iter=200000).fit(X, y)
    at_ours = objective(X.astype(float), y, ours.coef_, ours.intercept_, lam)
    at_theirs = objective(X.astype(float), y, theirs.coef_, theirs.intercept_, lam)
    assert at_ours == pytest.approx(ours.objective_, rel=1e-4)
    assert ours.dual_ <= at_theirs * (1 + 1e-6)  # nobody is below the certificate
    assert at_ours <= at_theirs * (1 + 1.1e-4)


@pytest.mark.parametrize("make", [scipy.sparse.csr_matrix, scipy.sparse.csc_matrix, scipy.sparse.coo_matrix])
@pytest.mark.parametrize("density", [0.02, 0.5])
def test_sparse_matrices_give_what_dense_ones_give(make, density):
    rng = np.random.default_rng(0)
    X = scipy.sparse.random(150, 300, density=density, random_state=0, format="csr", dtype=np.float32)
    y = rng.integers(0, 3, 150)
    X = X.tolil()
    for i, label in enumerate(y):
        X[i, label] = 1.0
    X = X.tocsr()
    sparse = LinearSVMClassifier(0.01, gap=1e-4).fit(make(X), y)
    dense = LinearSVMClassifier(0.01, gap=1e-4).fit(X.toarray(), y)
    assert sparse.objective_ == pytest.approx(dense.objective_, rel=3e-4)
    assert np.allclose(sparse.decision_function(make(X)), sparse.decision_function(X.toarray()), atol=1e-5)
    assert sparse.score(make(X), y) > 0.95


def test_sparse_matrices_with_entries_that_are_double_or_unsorted_are_taken():
    rows, columns = np.array([0, 0, 0, 1, 1, 2]), np.array([5, 1, 1, 3, 0, 2])
    X = scipy.sparse.coo_matrix((np.ones(6), (rows, columns)), shape=(3, 40))
    y = [0, 1, 1]
    a = LinearSVMClassifier(0.1, gap=1e-4).fit(X, y)
    b = LinearSVMClassifier(0.1, gap=1e-4).fit(X.toarray(), y)
    assert a.objective_ == pytest.approx(b.objective_, rel=3e-4)


def test_lam_auto_finds_what_a_grid_search_finds():
    X, y = make_classification(400, 20, n_informative=6, n_classes=3, flip_y=0.1, random_state=0)
    X = StandardScaler().fit_transform(X)
    auto = LinearSVMClassifier("auto").fit(X[:300], y[:300])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        search = GridSearchCV(LinearSVMClassifier(max_epochs=50), {"lam": 10.0 ** np.arange(-3, 2)}).fit(X[:300], y[:300])
    assert auto.score(X[300:], y[300:]) >= search.score(X[300:], y[300:]) - 0.05
    assert auto.lam_ > 0
    with pytest.raises(lwsvm.Error, match="auto"):
        LinearSVMClassifier("best").fit(X, y)


def test_lam_auto_finds_its_way_whatever_unit_the_features_are_in():
    X, y = load_iris(return_X_y=True)
    for unit in (0.01, 1, 100):
        assert LinearSVMClassifier("auto", gap=0.02).fit(unit * X, y).score(unit * X, y) > 0.94


def test_they_work_in_pipelines_grids_and_cross_validation():
    X, y = load_iris(return_X_y=True)
    words = np.array(["setosa", "versicolor", "virginica"])[y]
    for estimator, grid in (
        (LinearSVMClassifier(), {"linearsvmclassifier__lam": [1e-3, 1e-1]}),
        (PiecewiseLinearClassifier("dense8-relu", epochs=20, passes=1, batch=20), {"piecewiselinearclassifier__passes": [0, 1]}),
    ):
        pipeline = make_pipeline(StandardScaler(), estimator)
        assert cross_val_score(pipeline, X, words, cv=3).mean() > 0.85
        search = GridSearchCV(pipeline, grid, cv=2, n_jobs=2).fit(X, words)
        assert search.best_score_ > 0.85
        again = pickle.loads(pickle.dumps(search.best_estimator_))
        assert np.array_equal(again.predict(X), search.predict(X))
        assert set(again.predict(X)) <= set(words)


def test_images_and_their_pixels_in_a_row_are_the_same():
    X, y = load_digits(return_X_y=True)
    X, y = X[:400].astype(np.float32), y[:400]
    settings = {"epochs": 2, "passes": 1, "batch": 50}
    arch = "conv4x3-relu-pool2-dense16-relu"
    flat = PiecewiseLinearClassifier(arch, image_shape=(1, 8, 8), **settings).fit(X, y)
    images = PiecewiseLinearClassifier(arch, **settings).fit(X.reshape(-1, 1, 8, 8), y)
    assert np.array_equal(flat.decision_function(X), images.decision_function(X.reshape(-1, 1, 8, 8)))
    assert flat.result_.rises == 0
    with pytest.raises(lwsvm.Error, match="image_shape"):
        PiecewiseLinearClassifier(arch, image_shape=(1, 7, 8)).fit(X, y)


def test_the_network_of_an_estimator_predicts_what_the_estimator_does(tmp_path):
    X, y = load_iris(return_X_y=True)
    words = np.array(["setosa", "versicolor", "virginica"])[y]
    for estimator in (LinearSVMClassifier(0.01), PiecewiseLinearClassifier("dense8-relu", epochs=5, passes=1, batch=20)):
        estimator.fit(X.astype(np.float32), words)
        estimator.network_.save(tmp_path / "net.onnx")
        again = lwsvm.Network(tmp_path / "net.onnx")
        assert np.array_equal(again.predict(X.astype(np.float32)), estimator.predict(X.astype(np.float32)))


def test_random_state_is_the_seed():
    X, y = load_iris(return_X_y=True)
    first, same, other = (
        PiecewiseLinearClassifier("dense8-relu", epochs=2, passes=1, random_state=state).fit(X, y).decision_function(X)
        for state in (1, 1, 2)
    )
    assert np.array_equal(first, same)
    assert not np.array_equal(first, other)


def test_it_says_when_epochs_are_used_up():
    X, y = load_iris(return_X_y=True)
    with pytest.warns(ConvergenceWarning, match="max_epochs=1"):
        LinearSVMClassifier(1e-6, max_epochs=1).fit(X, y)


def test_numbers_beyond_float32_are_an_error():
    X = np.array([[1e39, 0], [0, 1.0]])
    for estimator in (LinearSVMClassifier(), PiecewiseLinearClassifier()):
        with pytest.raises(ValueError, match="too large"):
            estimator.fit(X, [0, 1])
