"""How the rows are split into calls, and what is done between the calls, changes not one bit."""

import copy
import pickle

import numpy as np
import pytest
from scipy import sparse

import onepass
from onepass import PCA
from onepass.estimators.saving import pack, unpack
from onepass.moments.krylov import SMALL
from onepass.pca.learner import PCALearner
from onepass.persistence import archive
from onepass.schedules import Constant, Schedule
from tests.contracts.chunks import (
    SHORT,
    chunks_of,
    learn_as_if_wide,
    next_chunk,
    waiting,
)
from tests.contracts.results import assert_identical, published
from tests.contracts.rows import at_once, feed, make, one_by_one, ragged
from tests.contracts.variants import BATCH_VARIANTS, OTHER_VARIANTS, VARIANTS, build

D, K = 30, 3
EVERY = pytest.mark.parametrize("variant", [*VARIANTS, *BATCH_VARIANTS, *OTHER_VARIANTS], ids=str)
SHORTLY = pytest.mark.parametrize("length", SHORT)


@pytest.fixture(scope="module")
def rows():
    return make("gaussian", n=130, d=D, k=K)


@EVERY
@SHORTLY
def test_any_split_gives_the_same_bits(variant, length, rows):
    d = rows.shape[1]
    with chunks_of(length):
        whole = feed(variant.build(d, K), rows, at_once)
        assert_identical(whole, variant.build(d, K).fit(rows))
        for split in (ragged, one_by_one):
            assert_identical(whole, feed(variant.build(d, K), rows, split))


@EVERY
@pytest.mark.filterwarnings("ignore:the components were still turning")
@pytest.mark.parametrize(
    ("kind", "wide"), [(np.float32, False), (sparse.csr_array, False), (sparse.csr_array, True)]
)
def test_any_split_of_weighted_rows_gives_the_same_bits(variant, kind, wide, rows, monkeypatch):
    """Rows of weight zero do not fill a chunk, and wherever a call ends they are absent."""
    if wide:
        learn_as_if_wide(monkeypatch)
    weights = np.random.default_rng(0).choice([0.0, 0.5, 1.0, 3.0], len(rows))
    with chunks_of(8):
        whole, pieces = (
            feed(variant.build(D, K), kind(rows), split, weights) for split in (at_once, ragged)
        )
        present = variant.build(D, K).fit(
            kind(rows[weights > 0]), sample_weight=weights[weights > 0]
        )
    assert_identical(whole, pieces)
    assert_identical(whole, present)


@pytest.mark.parametrize("variant", [*VARIANTS[::5], *BATCH_VARIANTS, *OTHER_VARIANTS], ids=str)
def test_any_split_into_calls_of_a_long_stream_gives_the_same_bits(variant):
    """Chunks of the usual length, which may grow with the stream."""
    n = 6 * next_chunk(variant.build(D, K).fit(make("gaussian", 20, D, K))) + 5
    long = make("gaussian", n, D, K)
    whole, pieces = (feed(variant.build(D, K), long, split) for split in (at_once, ragged))
    assert_identical(whole, pieces)


def checkpointed(estimator):
    """Return the estimator of a checkpoint, which keeps the rows that wait."""
    header, arrays = archive.from_bytes(archive.to_bytes(*pack(estimator, waiting=True)))
    return unpack(header, arrays, "the checkpoint")


@EVERY
def test_reading_copying_and_saving_between_calls_changes_nothing(variant, rows, tmp_path):
    with chunks_of(8):
        d = rows.shape[1]
        whole = variant.build(d, K).fit(rows)
        read, pickled, forked, saved, kept = (variant.build(d, K) for _ in range(5))
        for piece in ragged(len(rows)):
            published(read.partial_fit(rows[piece]))
            read.transform(rows[:2])
            pickled = pickle.loads(pickle.dumps(pickled.partial_fit(rows[piece])))
            copy.deepcopy(forked.partial_fit(rows[piece])).partial_fit(10 * rows[:40])
            saved.partial_fit(rows[piece]).save(tmp_path / "m.onepass")
            saved.to_bytes()
            kept = checkpointed(kept.partial_fit(rows[piece]))
    for other in (read, pickled, forked, saved, kept):
        assert_identical(whole, other)


@pytest.mark.parametrize("variant", [BATCH_VARIANTS[2], *OTHER_VARIANTS[1:]], ids=str)
def test_directions_that_are_improved_change_nothing(variant, tmp_path):
    """They depend on those before, which are part of what is copied and saved."""
    lengths = np.random.default_rng(0).standard_t(2, (130, 1))
    uneven = make("gaussian", n=130, d=SMALL + 4, k=K) * lengths
    test_reading_copying_and_saving_between_calls_changes_nothing(variant, uneven, tmp_path)
    test_any_split_gives_the_same_bits(variant, SHORT[0], uneven)


@EVERY
@pytest.mark.filterwarnings("ignore:the components were still turning")
def test_a_checkpoint_in_the_middle_of_sparse_rows_changes_nothing(variant, rows, monkeypatch):
    learn_as_if_wide(monkeypatch)
    thin = sparse.csr_array(np.where(np.abs(rows) > 0.1, rows, 0).astype(np.float32))
    weights = np.linspace(0.5, 2, len(rows))
    with chunks_of(24):
        whole = variant.build(D, K).fit(thin, sample_weight=weights)
        kept = checkpointed(variant.build(D, K).fit(thin[:61], sample_weight=weights[:61]))
        assert waiting(kept) > 0
        kept.partial_fit(thin[61:], sample_weight=weights[61:])
    assert_identical(whole, kept)


@EVERY
@pytest.mark.parametrize("kind", [np.asarray, np.float32, sparse.csr_array])
def test_a_file_holds_the_model(variant, kind, rows, tmp_path):
    with chunks_of(24):
        model = variant.build(D, K).fit(kind(rows[:61]))
        assert waiting(model) > 0
        model.save(tmp_path / "m.onepass")
        data = (tmp_path / "m.onepass").read_bytes()
        assert data == model.to_bytes()
        loaded = onepass.load(tmp_path / "m.onepass")
        assert_identical(model, loaded)
        assert_identical(onepass.from_bytes(data), loaded)
        assert waiting(loaded) == 0
        assert loaded.to_bytes() == data


@pytest.mark.parametrize(
    "variant",
    [v for v in (*VARIANTS, *BATCH_VARIANTS, *OTHER_VARIANTS) if "batch_size" not in v.params],
    ids=str,
)
def test_a_loaded_model_goes_on_as_if_the_stream_had_been_cut(variant, rows):
    """Where it was saved, a chunk ends; then the stream goes on."""
    with chunks_of(24):
        loaded = onepass.from_bytes(variant.build(D, K).partial_fit(rows[:61]).to_bytes())
        loaded.partial_fit(rows[61:])
        cut = variant.build(D, K).partial_fit(rows[:48])
    with chunks_of(13):
        cut.partial_fit(rows[48:61])
    with chunks_of(24):
        cut.partial_fit(rows[61:])
    assert_identical(loaded, cut)


@EVERY
def test_results_after_each_call_are_those_of_the_rows_so_far(variant, rows):
    """Rows that wait for their chunk are in what is published."""
    with chunks_of(8):
        estimator = variant.build(D, K)
        for piece in ragged(len(rows)):
            estimator.partial_fit(rows[piece])
            assert estimator.n_samples_seen_ == piece.stop
            assert_identical(variant.build(D, K).partial_fit(rows[: piece.stop]), estimator)


class Recording(Schedule):
    """Constant steps, and a note of what was asked for: the last answer for each step counts."""

    def __init__(self):
        self.calls, self.gradients = 0, {}

    def steps(self, number, gradients, diameter):
        self.calls += 1
        self.gradients |= dict(zip(np.array(number), np.array(gradients), strict=True))
        return Constant(0.1).steps(number, gradients, diameter)


@pytest.mark.parametrize("batch_size", [1, 4])
@pytest.mark.parametrize("algorithm", ["MSG", "CappedMSG", "MEG", "Oja"])
def test_a_schedule_is_asked_for_every_step(algorithm, batch_size, rows):
    note = Recording()
    estimator = build(
        algorithm, K, step_size=note, batch_size=batch_size, center=False, random_state=0
    )
    with chunks_of(24):
        estimator.partial_fit(rows[:100]).partial_fit(rows[100:])
    learned = 120 // batch_size
    assert note.calls >= 5
    assert sorted(note.gradients) == [*range(1, learned + 1)]
    grams = [Y @ Y.T / batch_size for Y in np.split(rows[:120], learned)]
    norms = np.sqrt(np.cumsum([np.sum(G**2) for G in grams]))
    found = [note.gradients[t] for t in range(1, learned + 1)]
    np.testing.assert_allclose(found, norms, rtol=1e-12)
    assert estimator.n_samples_seen_ == len(rows)  # what waits is learned from on a copy
    assert estimator.components_.shape == (K, D)
    assert max(note.gradients) == -(-len(rows) // batch_size)


def test_entries_end_chunks_of_sparse_rows_wherever_calls_end(monkeypatch):
    monkeypatch.setattr(PCALearner, "most_entries", 2000)
    drawn = np.random.default_rng(0).normal(size=(700, 200))
    X = sparse.csr_array(np.where(drawn > 0.5, drawn, 0.0))
    whole, parts = PCA(3).partial_fit(X), PCA(3)
    for start in range(0, 700, 9):
        parts.partial_fit(X[start : start + 9])
    assert whole.to_bytes() == parts.to_bytes()
    assert whole.learner_.rows_learned == 700
    monkeypatch.undo()
    assert whole.to_bytes() != PCA(3).partial_fit(X).to_bytes()  # whose chunks are longer
