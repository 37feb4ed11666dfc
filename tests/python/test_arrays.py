"""Arrays of every layout and type: the same numbers are the same samples, and what is no sample is an Error."""

import gc
import sys

import numpy as np
import pytest
from conftest import bars

import lwsvm
from lwsvm._data import sample_array


def layouts(x):
    """The same numbers, laid out otherwise."""
    yield "as it is", x
    yield "Fortran order", np.asfortranarray(x)
    yield "negative strides", x[::-1].copy()[::-1]
    yield "every second", np.repeat(x, 2, axis=0)[::2]
    yield "big-endian", x.astype(x.dtype.newbyteorder(">"))
    read_only = x.copy()
    read_only.setflags(write=False)
    yield "read-only", read_only
    raw = np.empty(x.nbytes + 1, dtype=np.uint8)
    unaligned = raw[1:].view(x.dtype).reshape(x.shape)
    unaligned[...] = x
    yield "unaligned", unaligned
    yield "a subclass", x.view(np.recarray) if x.dtype.names else np.ma.MaskedArray(x)
    yield "nested lists", x.tolist() if x.dtype != np.uint8 else x
    if x.dtype == np.float32:
        yield "float64", x.astype(np.float64)
        yield "longdouble", x.astype(np.longdouble)


@pytest.mark.parametrize("dtype", [np.float32, np.uint8])
def test_the_same_numbers_give_the_same_scores_whatever_their_layout(base, dtype):
    net, x, _ = base
    x = (100 * x).astype(np.uint8) if dtype == np.uint8 else x
    expected = net.scores(x)
    for name, laid in layouts(x):
        assert np.array_equal(net.scores(laid), expected), name


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int16", "int32", "uint32", "int64", "uint64", "float16", "float64"])
def test_other_types_are_taken_as_float32(base, dtype):
    net, x, _ = base
    x = (3 * x).astype(dtype)
    assert np.array_equal(net.scores(x), net.scores(x.astype(np.float32)))


def test_plain_arrays_are_not_copied():
    for dtype in (np.float32, np.uint8):
        x = np.ones((10, 4), dtype=dtype)
        assert np.shares_memory(sample_array(x), x)
        data = lwsvm.Data(x, np.arange(10) % 2)
        before = sys.getrefcount(x)
        del data
        gc.collect()
        assert sys.getrefcount(x) == before - 1  # what looked at it has let go of it


def test_data_keeps_its_array_alive():
    x, y = bars(60, 3)
    data = lwsvm.Data(x.copy(), y, test=(x.copy(), y))
    gc.collect()
    junk = [np.full((60, 6, 6), 7, dtype=np.float32) for _ in range(20)]
    net = lwsvm.train("dense4-relu", data, epochs=1).model
    assert np.array_equal(net.scores(x), lwsvm.train("dense4-relu", x, y, epochs=1, test=(x, y)).model.scores(x))
    del junk


def test_samples_come_out_as_they_went_in():
    x, y = bars(30, 4)
    words = np.array(["a", "b", "c"])[y]
    for samples in (x, (100 * x).astype(np.uint8)):
        back, labels = lwsvm.Data(samples, words).arrays()
        assert back.dtype == samples.dtype
        assert np.array_equal(back[:, 0], samples)
        assert labels.tolist() == words.tolist()
    with pytest.raises(lwsvm.Error, match="no test samples"):
        lwsvm.Data(x, y).arrays("test")


def test_channels_last_is_recognised_or_said():
    x = np.random.default_rng(0).random((20, 3, 6, 5), dtype=np.float32)
    y = np.arange(20) % 2
    turned = np.ascontiguousarray(x.transpose(0, 2, 3, 1))
    assert lwsvm.Data(turned, y).shape == (3, 6, 5)
    assert lwsvm.Data(turned, y, channels_last=False).shape == (6, 5, 3)
    net = lwsvm.train("dense4-relu", x, y, epochs=1).model
    assert np.array_equal(net.scores(turned), net.scores(x))
    assert np.array_equal(net.scores(turned, channels_last=True), net.scores(x, channels_last=False))


def test_a_network_of_ours_tells_what_the_axes_are():
    x = np.random.default_rng(0).random((20, 5, 3, 3), dtype=np.float32)  # one would think of three channels
    y = np.arange(20) % 2
    assert lwsvm.Data(x, y).shape == (3, 5, 3)
    net = lwsvm.train("dense4-relu", x, y, epochs=1, channels_last=False).model
    assert net.input_shape == (5, 3, 3)
    assert net.evaluate(x, y).correct == int((net.scores(x).argmax(axis=1) == y).sum())
    assert lwsvm.refine(net, x, y, passes=1).model.input_shape == (5, 3, 3)
    assert np.array_equal(net.scores(x.transpose(0, 2, 3, 1)), net.scores(x))


@pytest.mark.parametrize(
    ("x", "word"),
    [
        (np.float32(1), "0 axes"),
        (np.ones(12), "1 axes"),
        (np.ones((2, 2, 2, 2, 2)), "5 axes"),
        (np.ones((0, 4)), "empty"),
        (np.ones((12, 0)), "empty"),
        (np.full((12, 4), np.nan), "not a number"),
        (np.full((12, 4), np.inf), "infinite"),
        (np.full((12, 4), 1e300), "too large for float32"),
        (np.ones((12, 4), dtype=complex), "complex"),
        (np.full((12, 4), "a"), "give numbers"),
        (np.full((12, 4), None), "give numbers"),
        (np.zeros((12, 4), dtype="M8[s]"), "give numbers"),
        (np.zeros((12, 4), dtype=[("a", "f4"), ("b", "f4")]), "give numbers"),
        ([[1, 2], [3]], "same shape"),
        (np.ma.masked_equal(np.arange(48).reshape(12, 4), 5), "masked"),
        (np.broadcast_to(np.uint8(1), (12, 4)), None),
        (None, "give numbers"),
        (object(), "give numbers"),
    ],
)
def test_what_is_no_sample_is_an_error(x, word):
    y = np.arange(12) % 2
    if word is None:
        assert lwsvm.Data(x, y).core.train_size() == 12
        return
    with pytest.raises(lwsvm.Error, match=word) as error:
        lwsvm.Data(x, y)
    assert str(error.value).startswith("[data] ")


def random_array(rng):
    """Anything that numpy can make, most of it no samples."""
    shape = tuple(int(n) for n in rng.choice([0, 1, 2, 3, 7, 30], size=rng.integers(0, 6)))
    kind = rng.choice(["f4", "f8", "f2", "u1", "i8", "i1", "?", "c8", "U3", "O", ">f4", ">i2", "g", "S2", "M8[s]"])
    numbers = np.asarray(rng.normal(size=shape) * 10.0 ** rng.integers(-3, 40))
    with np.errstate(all="ignore"):
        if kind in ("U3", "S2"):
            array = np.full(shape, "ab", dtype=kind)
        elif kind == "M8[s]":
            array = np.zeros(shape, dtype=kind)
        else:
            array = np.nan_to_num(numbers).clip(-100, 100).astype(kind) if kind in ("u1", "i8", "i1", "?", ">i2") else (
                numbers.astype(kind))
    if array.size and array.dtype.kind == "f" and rng.random() < 0.2:
        array.flat[rng.integers(array.size)] = rng.choice([np.nan, np.inf, -np.inf])
    if array.ndim and rng.random() < 0.3:
        array = array[::-1]
    if array.ndim > 1 and rng.random() < 0.3:
        array = array.swapaxes(0, -1)
    if rng.random() < 0.3:
        array = np.asfortranarray(array)
    if rng.random() < 0.2:
        array = np.broadcast_to(array, (3, *array.shape))
    if rng.random() < 0.2:
        array = array.copy()
        array.setflags(write=False)
    return array


@pytest.mark.parametrize("seed", range(8))
def test_random_arrays_are_samples_or_an_error_and_never_a_crash(base, seed):
    net = base[0]
    rng = np.random.default_rng(seed)
    taken = 0
    for _ in range(120):
        x, y = random_array(rng), random_array(rng)
        if rng.random() < 0.7 and x.ndim:  # labels that fit, so that the samples are looked at
            y = rng.integers(0, 3, size=x.shape[0])
        try:
            data = lwsvm.Data(x, y)
            taken += 1
            assert data.core.train_size() == len(x)
            lwsvm.train("dense2-relu", data, epochs=1, validation=0, threads=1)
        except lwsvm.Error as error:
            assert str(error).startswith("[")
        for call in (lambda: net.scores(x), lambda: net.evaluate(x, y, threads=1), lambda: net.predict(x)):
            try:
                call()
            except lwsvm.Error as error:
                assert str(error).startswith("[")
    assert taken > 0


def test_settings_of_any_kind_are_taken_or_refused(base):
    net, x, y = base
    values = [None, -1, 0, 3, 1e300, float("nan"), float("inf"), "x", "", b"x", [], (1, 2), {}, object(), 2**70, True, np.float32(2)]
    settings = ["validation", "time_limit", "passes", "layers", "lam", "centre", "normalize", "scale", "mean", "std", "augment",
                "margins", "moves", "patience", "gap", "mu", "max_epochs", "batch", "memory", "mode", "search", "keep", "seed",
                "split_seed", "threads", "classes", "callback"]
    for setting in settings:
        for value in values:
            given = {"passes": 0, setting: value}
            if setting in ("passes", "patience", "max_epochs", "time_limit"):
                given["callback"] = lambda update: False
            try:
                lwsvm.refine(net, x[:30], y[:30], progress=False, **given)
            except (lwsvm.Error, TypeError) as error:
                assert str(error), (setting, value)


def test_core_refuses_arrays_that_are_not_plain():
    from lwsvm import _core

    labels = np.zeros(4, dtype=np.int32)
    for bad in (np.ones((4, 4)), np.asfortranarray(np.ones((4, 4), dtype=np.float32)), [1.0], None, np.ones((4, 4), dtype=">f4")):
        with pytest.raises(TypeError):
            _core.Data.view((bad, labels))
    with pytest.raises(TypeError):
        _core.Data.view((np.ones((4, 4), dtype=np.float32), labels.astype(np.int64)))
    with pytest.raises(TypeError):
        _core.refine(_core.Network(), _core.Data.load("synthetic:n=30,test=10,classes=2,size=4x4")[0], no_such_setting=1)
