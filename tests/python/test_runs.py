"""refine and train: the bits and words of the command line, callbacks, Ctrl-C, other threads."""

import json
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest
from conftest import bars, judge

import lwsvm

SYNTHETIC = "synthetic:n=300,test=60,classes=3,size=8x8"
ARCH = "conv4x3-relu-dense8-relu"


def test_runs_by_name_have_the_bits_of_the_command_line(run, tmp_path):
    run("train", "--data", SYNTHETIC, "--arch", ARCH, "--epochs", 2, "-o", "net.onnx")
    net = lwsvm.train(ARCH, SYNTHETIC, epochs=2).model
    assert net.to_bytes() == (tmp_path / "net.onnx").read_bytes()
    printed = json.loads(run("refine", "net.onnx", "--data", SYNTHETIC, "-o", "better.onnx", "--json").stdout)
    result = lwsvm.refine(tmp_path / "net.onnx", SYNTHETIC)
    result.model.save(tmp_path / "ours.onnx")
    assert (tmp_path / "ours.onnx").read_bytes() == (tmp_path / "better.onnx").read_bytes()
    assert printed["objective"] == result.end.objective
    assert printed["test_accuracy"] == result.end.test_accuracy
    assert printed["updates"] == result.moves == len(result.updates)
    assert printed["end"] == result.reason


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_runs_on_arrays_have_the_bits_of_the_command_line_on_the_same_arrays_in_a_file(run, tmp_path, dtype):
    x, y = bars(300, 5)
    x = (150 * x).astype(dtype)
    test_x, test_y = (150 * bars(60, 6)[0]).astype(dtype), bars(60, 6)[1]
    np.savez(tmp_path / "mine.npz", x_train=x, y_train=y, x_test=test_x, y_test=test_y)
    run("train", "--data", "mine.npz", "--arch", ARCH, "--epochs", 3, "--val", "0.2", "-o", "net.onnx")
    net = lwsvm.train(ARCH, x, y, test=(test_x, test_y), epochs=3, validation=0.2, name="mine").model
    assert net.to_bytes() == (tmp_path / "net.onnx").read_bytes()
    run("refine", "net.onnx", "--data", "mine.npz", "--passes", 2, "--lambda", "0.01", "-o", "better.onnx")
    result = lwsvm.refine(net, x, y, test=(test_x, test_y), passes=2, lam=0.01, name="mine")
    assert result.model.to_bytes() == (tmp_path / "better.onnx").read_bytes()
    told = json.loads(run("eval", "better.onnx", "--data", "mine.npz", "--split", "test", "--json").stdout)
    ours = result.model.evaluate(test_x, test_y)
    assert told["accuracy"] == ours.accuracy
    assert told["objective"] == ours.objective


def test_photos_are_read_as_by_the_command_line(run, tmp_path, monkeypatch):
    image = judge("PIL.Image")
    rng = np.random.default_rng(3)
    for part, count in (("train", 12), ("val", 4)):
        for label, top in (("dark", 120), ("light", 255)):
            folder = tmp_path / "photos" / part / label
            folder.mkdir(parents=True)
            for i in range(count):
                image.fromarray(rng.integers(0, top, (24, 30 + i, 3), dtype=np.uint8)).save(folder / f"{i}.jpg")
    (tmp_path / "photos" / "train" / "dark" / "bad.jpg").write_bytes(b"\xff\xd8\xff\xe0 and no more")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    run("train", "--data", "photos", "--crop", "16x20", "--resize", 22, "--skip-bad", "--arch", ARCH, "--epochs", 2, "-o", "net.onnx")
    with pytest.raises(lwsvm.Error, match="bad.jpg"):
        lwsvm.Data("photos", crop=(16, 20), resize=22)
    photos = lwsvm.Data("photos", crop=(16, 20), resize=22, skip_bad=True)
    assert photos.shape == (3, 16, 20)
    assert any("bad.jpg" in note for note in photos.notes)
    net = lwsvm.train(ARCH, photos, epochs=2).model
    assert net.to_bytes() == (tmp_path / "net.onnx").read_bytes()
    (tmp_path / "photos" / "train" / "dark" / "bad.jpg").unlink()
    run("refine", "net.onnx", "--data", "photos", "--passes", 1, "-o", "better.onnx")
    result = lwsvm.refine("net.onnx", "photos", passes=1)  # cut as the network remembers
    assert result.model.to_bytes() == (tmp_path / "better.onnx").read_bytes()
    assert result.model.evaluate("photos").samples == 8
    assert result.model.classes == ["dark", "light"]


@pytest.mark.parametrize("settings", [{"crop": 0}, {"crop": (8, 8, 8)}, {"crop": "8"}, {"resize": 2.5}, {"resize": 10**400}, {"crop": True}])
def test_impossible_sizes_of_photos_are_errors(settings):
    with pytest.raises(lwsvm.Error, match="crop|resize"):
        lwsvm.Data(SYNTHETIC, **settings)
    with pytest.raises(lwsvm.Error, match="crop|resize"):
        lwsvm.Data(np.zeros((4, 3), np.float32), [0, 1, 0, 1], **settings)


def test_arrays_are_no_photos():
    with pytest.raises(lwsvm.Error, match="photos"):
        lwsvm.Data(np.zeros((4, 3), np.float32), [0, 1, 0, 1], crop=8)


def test_a_validation_part_of_ones_own_is_that_of_an_npz(run, tmp_path):
    (x, y), (xv, yv) = bars(200, 5), bars(90, 7)
    np.savez(tmp_path / "mine.npz", x_train=x, y_train=y, x_val=xv, y_val=yv)
    run("train", "--data", "mine.npz", "--arch", ARCH, "--epochs", 2, "-o", "net.onnx")
    run("refine", "net.onnx", "--data", "mine.npz", "--passes", 1, "-o", "better.onnx")
    net = lwsvm.train(ARCH, x, y, validation=(xv, yv), epochs=2, name="mine").model
    result = lwsvm.refine(net, x, y, validation=(xv, yv), passes=1, name="mine")
    assert result.model.to_bytes() == (tmp_path / "better.onnx").read_bytes()


def test_threads_do_not_change_bits(base):
    net, x, y = base
    one, two = (lwsvm.refine(net, x, y, passes=1, threads=n).model.to_bytes() for n in (1, 2))
    assert one == two


@pytest.mark.parametrize(
    ("arguments", "call"),
    [
        (["refine", "no.onnx", "--data", SYNTHETIC], lambda: lwsvm.refine("no.onnx", SYNTHETIC)),
        (["refine", "net.onnx", "--data", "no-such-data"], lambda: lwsvm.refine("net.onnx", "no-such-data")),
        (["refine", "net.onnx", "--data", SYNTHETIC, "--moves", "sideways"],
         lambda: lwsvm.refine("net.onnx", SYNTHETIC, moves="sideways")),
        (["refine", "net.onnx", "--data", SYNTHETIC, "--layers", "fc9"], lambda: lwsvm.refine("net.onnx", SYNTHETIC, layers="fc9")),
        (["refine", "net.onnx", "--data", SYNTHETIC, "--lambda", "-1"], lambda: lwsvm.refine("net.onnx", SYNTHETIC, lam=-1)),
        (["refine", "net.onnx", "--data", SYNTHETIC, "--val", "5"], lambda: lwsvm.refine("net.onnx", SYNTHETIC, validation=300)),
        (["refine", "net.onnx", "--data", SYNTHETIC, "--time-limit", "soon"],
         lambda: lwsvm.refine("net.onnx", SYNTHETIC, time_limit="soon")),
        (["refine", "net.onnx", "--data", "synthetic:n=60,test=9,classes=4,size=8x8"],
         lambda: lwsvm.refine("net.onnx", "synthetic:n=60,test=9,classes=4,size=8x8")),
        (["refine", "net.onnx", "--data", SYNTHETIC, "--scale", "255"], lambda: lwsvm.refine("net.onnx", SYNTHETIC, scale=255)),
        (["train", "--data", SYNTHETIC, "--arch", "conv4x3-reul"], lambda: lwsvm.train("conv4x3-reul", SYNTHETIC)),
        (["train", "--data", SYNTHETIC, "--arch", ARCH, "--solver", "magic"], lambda: lwsvm.train(ARCH, SYNTHETIC, solver="magic")),
    ],
)
def test_errors_have_the_words_of_the_command_line(run, tmp_path, monkeypatch, arguments, call):
    monkeypatch.chdir(tmp_path)
    lwsvm.train(ARCH, SYNTHETIC, epochs=0).model.save("net.onnx")
    if "5" in arguments:
        arguments = [*arguments[:-1], "300"]
    printed = run(*arguments, code=2).stderr
    with pytest.raises(lwsvm.Error) as error:
        call()
    assert isinstance(error.value, ValueError)
    words = str(error.value)
    assert words.startswith("[")
    assert " ".join(words.split("] ", 1)[1].split()) in " ".join(printed.split()), printed


def test_the_callback_hears_every_update_and_may_stop(base):
    net, x, y = base
    heard = []
    result = lwsvm.refine(net, x, y, passes=2, callback=heard.append)
    assert heard == result.updates
    assert result.finished and not result.interrupted
    heard.clear()
    stopped = lwsvm.refine(net, x, y, moves="layers", passes=3, callback=lambda update: (heard.append(update), len(heard) < 2)[1])
    assert len(heard) == len(stopped.updates) == 2
    assert not stopped.finished and not stopped.interrupted


def test_what_a_callback_raises_is_raised(base):
    net, x, y = base

    def fail(update):
        raise LookupError("as asked")

    with pytest.raises(LookupError, match="as asked"):
        lwsvm.refine(net, x, y, passes=5, callback=fail)
    with pytest.raises(LookupError, match="as asked"):
        lwsvm.train(ARCH, x, y, epochs=5, callback=fail)


def test_callbacks_are_called_on_the_callers_thread(base):
    net, x, y = base
    threads = set()
    lwsvm.refine(net, x, y, passes=1, callback=lambda update: threads.add(threading.get_ident()) and None)
    assert threads == {threading.get_ident()}


def test_other_threads_go_on_meanwhile(base):
    net, x, y = base
    steps, done = [], threading.Event()

    def count():
        while not done.is_set():
            steps.append(time.perf_counter())
            time.sleep(0.001)

    other = threading.Thread(target=count)
    other.start()
    began = time.perf_counter()
    lwsvm.refine(net, x, y, time_limit=0.5)
    ended = time.perf_counter()
    done.set()
    other.join()
    assert sum(began < step < ended for step in steps) > 20


def test_several_runs_at_once_give_what_they_give_alone(base):
    net, x, y = base
    alone = [lwsvm.refine(net, x, y, passes=1, seed=seed).model.to_bytes() for seed in range(3)]
    found = [None] * 3

    def work(seed):
        found[seed] = lwsvm.refine(net, x, y, passes=1, seed=seed).model.to_bytes()

    workers = [threading.Thread(target=work, args=(seed,)) for seed in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert found == alone


INTERRUPTED = """
    import os, signal, threading, time
    import numpy as np, lwsvm

    signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background shells have it ignored

    def interrupt(after, times=1):
        def send():
            for _ in range(times):
                time.sleep(after)
                os.kill(os.getpid(), signal.SIGINT)
        threading.Thread(target=send, daemon=True).start()

    rng = np.random.default_rng(0)
    x = rng.random((2000, 1, 12, 12), dtype=np.float32)
    y = (x.mean(axis=(1, 2, 3)) > 0.5).astype(int)
"""


def in_process(body):
    script = textwrap.dedent(INTERRUPTED) + textwrap.dedent(body)
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)


def test_ctrl_c_ends_a_run_with_the_best_network_so_far():
    done = in_process("""
        net = lwsvm.train("conv8x3-relu-pool2-dense32-relu", x, y, epochs=1).model
        heard = []
        def hear(update):
            heard.append(update)
            if len(heard) == 2:
                os.kill(os.getpid(), signal.SIGINT)
        result = lwsvm.refine(net, x, y, moves="layers", passes=1000, keep="last", callback=hear)
        assert result.interrupted and not result.finished and result.reason == "stopped", result
        assert len(result.updates) == 2
        assert result.end.objective == result.updates[-1].after < result.start.objective
        assert lwsvm.refine(net, x, y, passes=0).finished      # the next run does not remember it
        print("fine")
    """)
    assert done.stdout == "fine\n", done.stderr


def test_ctrl_c_is_heard_while_cplusplus_works():
    done = in_process("""
        net = lwsvm.train("conv8x3-relu-pool2-dense32-relu", x, y, epochs=1).model
        interrupt(0.5)
        result = lwsvm.refine(net, x, y, passes=10**6, patience=10**6)    # the search for a first radius alone takes minutes
        assert result.interrupted and not result.finished
        assert result.end.objective <= result.start.objective
        print("fine")
    """)
    assert done.stdout == "fine\n", done.stderr


def test_a_second_ctrl_c_raises():
    done = in_process("""
        from lwsvm import _core
        net = lwsvm.train("dense8-relu", x, y, epochs=1).model.core
        data = lwsvm.Data(x, y).core
        def impatient(text):      # every word that C++ has to say is a chance to press Ctrl-C
            signal.raise_signal(signal.SIGINT)
        try:
            _core.refine(net, data, moves="layers", passes=1000, on_message=impatient)
        except KeyboardInterrupt:
            print("raised")
    """)
    assert done.stdout == "raised\n", done.stderr


def test_ctrl_c_before_there_is_a_network_raises_at_once():
    done = in_process("""
        interrupt(0.3)
        begun = time.time()
        try:
            lwsvm.Data("synthetic:n=400000,test=10,classes=3,size=32x32")
        except KeyboardInterrupt as stopped:
            assert "loading the data" in str(stopped)
            assert time.time() - begun < 20
            print("fine")
    """)
    assert done.stdout == "fine\n", done.stderr


def test_a_signal_handler_of_ones_own_is_heard():
    done = in_process("""
        class Enough(Exception):
            pass
        def handler(number, frame):
            raise Enough
        net = lwsvm.train("dense32-relu-dense32-relu", x, y, epochs=1).model
        signal.signal(signal.SIGUSR1, handler)
        threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGUSR1)).start()
        try:
            lwsvm.refine(net, x, y, passes=10**6, patience=10**6)
        except Enough:
            print("fine")
    """)
    assert done.stdout == "fine\n", done.stderr


def test_it_is_silent_unless_asked(base, capfd):
    net, x, y = base
    lwsvm.refine(net, x, y, passes=1)
    assert capfd.readouterr() == ("", "")
    lwsvm.refine(net, x, y, passes=1, progress=True)
    out, err = capfd.readouterr()
    assert out == ""
    assert "refine" in err or "pass 1" in err


def test_progress_is_plain_without_tqdm(base, capfd, monkeypatch):
    net, x, y = base
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    result = lwsvm.refine(net, x, y, passes=1, progress=True)
    err = capfd.readouterr().err
    assert all(f"pass {update.pass_} {update.layer}" in err for update in result.updates)
    assert str(result.start) in err


def test_a_result_is_a_table_a_page_and_a_drawing(base):
    net, x, y = base
    result = lwsvm.refine(net, x, y, passes=1)
    assert [row["move"] for row in result.table] == list(range(1, result.moves + 1))
    assert "start:" in repr(result) and result.reason in repr(result)
    page = result._repr_html_()
    assert page.count("<tr>") == 4 + len(result.updates) and "<svg" in page
    assert page.count("<table>") == page.count("</table>") == 2
    pandas = judge("pandas")
    frame = result.to_pandas()
    assert list(frame.after) == [update.after for update in result.updates]
    assert pandas.DataFrame(result.table).shape == (result.moves, 12)
    judge("matplotlib")
    axes = result.plot()
    assert list(axes.lines[0].get_ydata()) == [result.start.objective, *frame.after]


def test_networks_can_be_pickled_and_compared(base):
    net, x, _ = base
    again = pickle.loads(pickle.dumps(net))
    assert again == net and hash(again) == hash(net)
    assert np.array_equal(again.scores(x), net.scores(x))
    assert "<table>" in net._repr_html_()


def test_the_network_that_was_given_stays_as_it_was(base):
    net, x, y = base
    before = net.to_bytes()
    result = lwsvm.refine(net, x, y, passes=1)
    assert net.to_bytes() == before
    assert result.model.to_bytes() != before


def test_scores_are_those_that_are_judged(base):
    net, x, y = base
    assert net.evaluate(x, y).correct == int((net.scores(x).argmax(axis=1) == y).sum())
    assert net.scores(x[:0]).shape == (0, 3)


def test_margins_count(base):
    net, x, y = base
    twice = net.evaluate(x, y, margins=2 * (1 - np.eye(3)))
    assert twice.loss > net.evaluate(x, y).loss
    with pytest.raises(lwsvm.Error, match="margins"):
        net.evaluate(x, y, margins=np.ones((3, 2)))


def test_names_of_any_bytes_are_paths(base, tmp_path):
    net = base[0]
    name = os.path.join(os.fsencode(tmp_path), b"\xff net.onnx")
    net.save(os.fsdecode(name))
    assert lwsvm.Network(os.fsdecode(name)).to_bytes() == net.to_bytes()
    with pytest.raises(lwsvm.Error, match="no.onnx"):
        lwsvm.Network(os.fsdecode(b"\xff no.onnx"))
    with pytest.raises(lwsvm.Error):
        lwsvm.Network("a\0b")
    with pytest.raises(lwsvm.Error):
        lwsvm.Network(b"no onnx file")
    with pytest.raises(lwsvm.Error):
        lwsvm.Network(17)


def test_sigint_is_as_it_was_afterwards(base):
    net, x, y = base
    before = signal.getsignal(signal.SIGINT)
    lwsvm.refine(net, x, y, passes=1)
    assert signal.getsignal(signal.SIGINT) is before
