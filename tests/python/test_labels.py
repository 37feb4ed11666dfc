"""Labels of any hashable kind."""

import datetime

import numpy as np
import pytest
from conftest import bars, judge

import lwsvm
from lwsvm._labels import Labels


@pytest.mark.parametrize(
    "names",
    [
        ["ant", "bee", "cat"],
        [b"ant", b"bee", b"cat"],
        [-1, 0, 1],
        [10, 20, 30],
        [0.5, 1.5, 2.5],
        [(0, "a"), (0, "b"), (1, "a")],
        [datetime.date(2020, 1, day) for day in (1, 2, 3)],
        [frozenset("a"), None, "mixed"],
        [np.int64(4), np.int64(5), np.int64(6)],
    ],
)
def test_predictions_are_the_labels_that_were_given(names):
    x, numbers = bars(240, 1)
    y = [names[n] for n in numbers]
    net = lwsvm.train("dense16-relu", x, y, epochs=12, batch=20).model
    by_number = lwsvm.train("dense16-relu", x, numbers, epochs=12, batch=20).model
    places = [net.classes.index(name) for name in names]  # unsortable labels come in another order
    predicted = net.predict(x)
    assert set(predicted.tolist()) <= set(names)
    if places == [0, 1, 2]:
        assert predicted.tolist() == [names[n] for n in by_number.predict(x)]
    assert np.mean([a == b for a, b in zip(predicted.tolist(), y)]) > 0.6
    result = lwsvm.refine(net, x, y, passes=1)
    assert result.model.classes == net.classes


def test_whole_numbers_are_the_outputs_themselves_even_if_some_are_missing(base):
    net, x, y = base
    some = y != 1
    assert net.evaluate(x[some], y[some]).correct == int((net.scores(x[some]).argmax(1) == y[some]).sum())
    assert net.evaluate(x[some], y[some].astype(float)).correct == net.evaluate(x[some], y[some]).correct
    assert Labels(y[some], 3).classes == [0, 1, 2]


def test_classes_say_the_order(base):
    net, x, y = base
    net = lwsvm.Network(net.to_bytes())
    names = ["z", "a", "m"]
    words = [names[n] for n in y]
    told = net.evaluate(x, words, classes=names)
    assert told.correct == net.evaluate(x, y).correct
    result = lwsvm.refine(net, x, words, classes=names, passes=1)
    assert result.model.classes == names
    assert result.end == lwsvm.refine(net, x, y, passes=1).end


def test_a_saved_network_remembers_words(base, tmp_path):
    _, x, y = base
    net = lwsvm.train("dense4-relu", x, np.array(["a", "b", "c"])[y], epochs=1).model
    net.save(tmp_path / "net.onnx")
    again = lwsvm.Network(tmp_path / "net.onnx")
    assert again.classes == ["a", "b", "c"]
    only_c = y == 2
    told = again.evaluate(x[only_c], ["c"] * int(only_c.sum()))  # by name, though the others are missing
    assert told.correct == again.evaluate(x[only_c], y[only_c]).correct == int((net.predict(x[only_c]) == "c").sum())


@pytest.mark.parametrize(
    ("y", "word"),
    [
        ([0, 1, 2, 3] * 3, "4 different labels"),
        (["a", "b"] * 6, "2 different labels"),
        ([1, "a", None] * 4, "have no order"),
        (np.eye(12), "argmax"),
        (np.float32(1), "1 axes|0 axes|one label per sample"),
        (5, "one label per sample"),
        ("abc" * 4, "one label per sample"),
        ([float("nan")] * 12, "finite"),
        ([{}] * 12, "hashable"),
        ([0, 1, 2], "3 labels for 12 samples"),
        ([], "empty"),
        (np.ma.masked_equal(np.arange(12) % 3, 2), "masked"),
    ],
)
def test_labels_that_do_not_fit_the_network_are_an_error(base, y, word):
    net, x, _ = base
    with pytest.raises(lwsvm.Error, match=word):
        lwsvm.refine(net, x[:12], y, passes=1)


def test_classes_that_do_not_fit_are_an_error(base):
    net, x, y = base
    for classes, word in (([0, 1], "2 classes are named"), ([0, 1, 1], "twice"), ([0, 1, 5], "not among"), ([[], 1, 2], "hashable")):
        with pytest.raises(lwsvm.Error, match=word):
            lwsvm.refine(net, x, y, classes=classes, passes=1)


def test_parts_share_the_labels(base):
    net, x, y = base
    with pytest.raises(lwsvm.Error, match="test_y"):
        lwsvm.refine(net, x, y, test=(x, y + 1), passes=1)
    with pytest.raises(lwsvm.Error, match="test_y.*not among"):
        lwsvm.Data(x, np.array(["a", "b", "c"])[y], test=(x, ["d"] * len(y)))


def test_pandas_labels_are_taken():
    pandas = judge("pandas")
    x, y = bars(60, 2)
    words = pandas.Series(np.array(["a", "b", "c"])[y], dtype="category")
    frame = pandas.DataFrame(x.reshape(60, -1))
    net = lwsvm.train("dense4-relu", frame, words, epochs=1).model
    assert net.classes == ["a", "b", "c"]
    assert set(net.predict(frame)) <= {"a", "b", "c"}
