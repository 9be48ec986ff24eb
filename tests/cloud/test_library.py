"""Publishing knowledge: files, versions, increments, the journal, and the two commands."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select
from typer.testing import CliRunner

from cloud.cli import app
from cloud.config import CloudConfig
from cloud.documents import EncoderMissing
from cloud.documents import library as room
from cloud.documents.library import Library
from cloud.documents.reading import FileUnusable, name_of, read_facts
from cloud.identity import ensure_key, signing_key
from cloud.storage import Database, FolderBlobs
from cloud.storage.tables import events
from protocol.documents import open_document
from protocol.errors import DocumentRefused
from protocol.publication import Publication, open_publication
from protocol.records import canonical
from tests.cloud.world import DAY, START

run = CliRunner()
KEY = bytes(range(32))


def lines(count: int = 300, **changed: str) -> list[dict[str, Any]]:
    """Facts of some length that differ; `changed`: id → another text."""
    return [
        {
            "id": f"f{number:03}",
            "text": changed.get(f"f{number:03}", f"Platform {number} is {number * 7919 % 977} m"),
            "language": "en",
        }
        for number in range(count)
    ]


def missing() -> Any:
    raise EncoderMissing("no encoder here")


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """The folder of a cloud that has been started once."""
    config = CloudConfig(state=tmp_path / "cloud")
    config.state.mkdir()
    ensure_key(config.signing_key, lambda _: KEY)
    Database(config.database_url).close()
    return config.state


@pytest.fixture
def library(state: Path) -> Iterator[Library]:
    opened = opening(state)()
    yield opened
    opened.close()


def opening(state: Path, **more: Any) -> Callable[[], Library]:
    config = CloudConfig(state=state)
    return lambda: Library(config.database_url, config.blobs, config.signing_key, **more)


def described(library: Library, place: int = 0) -> Publication:
    return open_publication(library.newest()[place][2], signing_key_of(library))


def signing_key_of(library: Library) -> bytes:
    return library._key.public


def test_a_phone_opens_what_is_published_whole_and_by_increment(library: Library) -> None:
    old, new = canonical(lines()), canonical(lines(f007="Platform 7 is closed"))
    first = library.publish("stops", old, START)
    second = library.publish("stops", new, START + DAY)
    assert (first.version, second.version, second.records) == (1, 2, 300)
    publication = described(library)
    whole = library.blob("knowledge/stops", 2, 0)
    delta = library.blob("knowledge/stops", 2, 1)
    assert whole is not None
    assert delta is not None
    assert len(delta) < len(whole) / 10
    assert second.deltas == {1: len(delta)}
    assert open_document(publication.document, publication.whole, whole) == new
    assert open_document(publication.document, publication.deltas[0].info, delta, old) == new


def test_increments_are_from_the_last_sixteen_versions(library: Library) -> None:
    contents = [canonical(lines(f000=f"Platform 0 is {n} m")) for n in range(19)]
    for number, content in enumerate(contents):
        library.publish("stops", content, START + number)
    publication = described(library)
    assert [delta.base for delta in publication.deltas] == list(range(3, 19))
    for delta in publication.deltas:
        blob = library.blob("knowledge/stops", 19, delta.base)
        assert blob is not None
        base = contents[delta.base - 1]
        assert open_document(publication.document, delta.info, blob, base) == contents[-1]
    assert library.blob("knowledge/stops", 19, 2) is None


def test_the_same_facts_in_any_order_are_no_new_version(library: Library) -> None:
    library.publish("stops", canonical(lines()), START)
    again = library.publish("stops", canonical(reversed(lines())), START + DAY)
    assert (again.version, again.fresh) == (1, False)
    # What was there once and comes back is new all the same: versions only rise.
    library.publish("stops", canonical(lines(f001="x")), START)
    assert library.publish("stops", canonical(lines()), START).version == 3


def test_only_the_newest_version_is_served_and_only_documents(library: Library) -> None:
    library.publish("stops", canonical(lines()), START)
    library.publish("stops", canonical(lines(f001="x")), START)
    for name, version, base in (
        ("knowledge/stops", 1, 0),
        ("knowledge/stops", 3, 0),
        ("knowledge/stops", 2, 7),
        ("knowledge/none", 1, 0),
        ("stops", 2, 0),
        ("knowledge/../cloud.key", 1, 0),
    ):
        assert library.blob(name, version, base) is None


def test_a_blob_lost_on_disk_is_not_served(state: Path, library: Library) -> None:
    library.publish("stops", canonical(lines()), START)
    for file in CloudConfig(state=state).blobs.iterdir():
        file.write_bytes(b"damaged")
    assert library.blob("knowledge/stops", 1, 0) is None
    # Without the content of version 1 there is no increment from it, and the whole still goes out.
    assert library.publish("stops", canonical(lines(f001="x")), START).deltas == {}


def test_without_an_encoder_documents_travel_whole(state: Path) -> None:
    library = opening(state, encoder=missing)()
    assert library.publish("stops", canonical(lines()), START).encoder == ""
    second = library.publish("stops", canonical(lines(f001="x")), START)
    assert (second.version, second.deltas) == (2, {})
    assert second.encoder == "no encoder here"
    library.close()


def test_what_no_phone_would_take_is_refused(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("", "Stops", "a/b", "-a", "x" * 41, "stops\n"):
        with pytest.raises(DocumentRefused, match="format"):
            library.publish(name, canonical(lines(3)), START)
    with pytest.raises(DocumentRefused, match="records"):
        library.publish("stops", canonical([{"id": "a", "price": 4}]), START)
    monkeypatch.setattr(room, "MAX_FETCHED", 1000)
    with pytest.raises(DocumentRefused, match="size"):
        library.publish("stops", canonical(lines()), START)
    assert library.newest() == []


def test_a_cloud_has_room_for_so_many(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "MAX_OFFERED", 2)
    for name in ("a", "b"):
        library.publish(name, canonical(lines(2)), START)
    with pytest.raises(DocumentRefused, match="at most 2"):
        library.publish("c", canonical(lines(2)), START)
    assert library.publish("a", canonical(lines(3)), START).version == 2
    assert [name for name, _, _ in library.newest()] == ["knowledge/a", "knowledge/b"]


def test_descriptions_are_signed_anew_before_they_expire(library: Library) -> None:
    library.publish("stops", canonical(lines()), START)
    assert library.renew(START + DAY) == []
    late = START + room.LIFETIME - DAY
    assert library.renew(late) == ["stops"]
    publication = described(library)
    assert publication.expires == late + room.LIFETIME
    assert publication.document.version == 1
    assert library.renew(late) == []


def test_the_journal_has_a_line_a_version(state: Path, library: Library) -> None:
    library.publish("stops", canonical(lines()), START)
    library.publish("stops", canonical(lines()), START)
    library.publish("stops", canonical(lines(f001="x")), START)
    with Database(CloudConfig(state=state).database_url).read() as connection:
        found = connection.execute(select(events.c.kind, events.c.detail)).all()
    assert [tuple(row) for row in found] == [
        ("document_published", {"name": "stops", "version": 1}),
        ("document_published", {"name": "stops", "version": 2}),
    ]


def test_blobs_come_before_the_row_that_names_them(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed in between, phones are still shown the version before."""
    library.publish("stops", canonical(lines()), START)

    def die(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(room, "insert_once", die)
        with pytest.raises(KeyboardInterrupt):
            library.publish("stops", canonical(lines(f001="x")), START)
    assert library.newest()[0][1] == 1
    assert library.publish("stops", canonical(lines(f001="x")), START).version == 2


def test_two_at_once_make_two_versions_or_one_is_told(
    state: Path, library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    rival = opening(state)()
    put = FolderBlobs.put

    def overtaken(blobs: FolderBlobs, data: bytes) -> str:
        monkeypatch.setattr(FolderBlobs, "put", put)
        rival.publish("stops", canonical(lines(f001="rival")), START)
        return put(blobs, data)

    monkeypatch.setattr(FolderBlobs, "put", overtaken)
    with pytest.raises(DocumentRefused, match="try again"):
        library.publish("stops", canonical(lines()), START)
    assert library.publish("stops", canonical(lines()), START).version == 2
    rival.close()


# --- files


def file_of(folder: Path, text: str | bytes, name: str = "City Metro, 2026.jsonl") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_a_file_in_any_order_and_spacing_makes_one_document(tmp_path: Path) -> None:
    first = '{"id": "b", "text": "二", "language": "zh"}\n\n{"text":"1","id":"a","language":"en"}'
    second = (
        '\ufeff{"language":"en","id":"a","text":"1"}\r\n{"id":"b","language":"zh","text":"二"}\r\n'
    )
    contents = [read_facts(file_of(tmp_path, text)) for text in (first, second)]
    assert contents[0] == contents[1]
    assert contents[0].startswith(b'{"id":"a","language":"en"')
    assert name_of(tmp_path / "City Metro, 2026.jsonl") == "city-metro-2026"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "holds no facts"),
        ("not json", "line 1: not JSON"),
        ("[1]", "line 1: not a JSON object"),
        ('{"id":"a","text":"x","language":"en"}\n{"id":"a"}', "line 2: "),
        ('{"id":"a","text":"x","language":"en"}\n' * 2, "line 2: this id is on line 1 already"),
        ('{"id":"a","text":"x","language":"en","time":"soon"}', "ISO 8601"),
        ('{"id":"a","text":"\\ud800","language":"en"}', "line 1: "),
        (b'{"id":"a","text":"\xff","language":"en"}', "line 1: not JSON"),
        ("[" * 100_000, "line 1: not JSON"),
    ],
)
def test_a_file_that_is_none_is_told_by_its_line(
    tmp_path: Path, text: str | bytes, says: str
) -> None:
    with pytest.raises(FileUnusable, match=says):
        read_facts(file_of(tmp_path, text))


def test_a_file_beyond_the_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = file_of(tmp_path, "".join(json.dumps(line) + "\n" for line in lines(9)))
    with pytest.raises(FileUnusable, match="cannot read"):
        read_facts(tmp_path / "nowhere.jsonl")
    for bound, least in (("MAX_FACTS", 8), ("MAX_FILE", 8), ("MAX_DOCUMENT", 8)):
        with monkeypatch.context() as patched:
            patched.setattr(f"cloud.documents.reading.{bound}", least)
            with pytest.raises(FileUnusable, match="several files"):
                read_facts(path)
    assert read_facts(path)


# --- commands


def invoke(*arguments: str, code: int = 0) -> str:
    result = run.invoke(app, list(arguments))
    assert result.exit_code == code, result.output
    return result.stdout if code == 0 else result.stderr


def test_publish_and_list(tmp_path: Path, state: Path) -> None:
    text = "".join(json.dumps(line) + "\n" for line in lines(9))
    path = str(file_of(tmp_path, text, "metro.jsonl"))
    said = invoke("publish", "knowledge", path, "--state", str(state))
    assert "published: metro version 1, 9 facts" in said
    assert "unchanged" in invoke("publish", "knowledge", path, "--state", str(state))
    file_of(tmp_path, text + '{"id":"z","text":"new","language":"en"}', "metro.jsonl")
    told = json.loads(invoke("publish", "knowledge", path, "--state", str(state), "--json"))
    assert (told["version"], told["records"], told["fresh"]) == (2, 10, True)
    (row,) = json.loads(invoke("documents", "--state", str(state), "--json"))
    assert (row["name"], row["version"], row["whole"]) == ("metro", 2, told["whole"])
    assert "metro" in invoke("documents", "--state", str(state))


def test_errors_of_the_commands_are_one_line(tmp_path: Path, state: Path) -> None:
    bad = str(file_of(tmp_path, "not json"))
    good = str(file_of(tmp_path, '{"id":"a","text":"x","language":"en"}', "a.jsonl"))
    for arguments, says in (
        (("publish", "knowledge", bad, "--state", str(state)), "line 1: not JSON"),
        (("publish", "knowledge", good, "--name", "A B", "--state", str(state)), "a name has"),
        (("publish", "knowledge", good, "--state", str(tmp_path / "no")), "there is no cloud"),
        (("documents", "--state", str(tmp_path / "no")), "there is no cloud"),
    ):
        line = invoke(*arguments, code=2)
        assert says in line
        assert len(line.strip().splitlines()) == 1


@pytest.mark.parametrize("command", [("publish", "knowledge"), ("documents",)])
def test_help_shows_examples(command: tuple[str, ...]) -> None:
    assert "reverie-cloud " + " ".join(command) in invoke(*command, "--help")


def test_the_key_is_the_clouds(state: Path, library: Library) -> None:
    library.publish("stops", canonical(lines(2)), START)
    public = signing_key(CloudConfig(state=state).signing_key).public
    assert open_publication(library.newest()[0][2], public).document.name == "stops"
