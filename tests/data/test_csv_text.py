"""The grammar of CSV files, held against two readers that share nothing with ours, and cut into chunks everywhere."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import random
import re

import pytest

from parcomp.data import Reading, write_table
from parcomp.data.sources.byte_stream import FileStream
from parcomp.data.sources.csv_text import COMPILED_FROM, CsvText
from parcomp.errors import DataError
from parcomp.model import Domain
from parcomp.model.attribute import Categorical
from tests.data.coded_sources import counted, place_of

TINY = (1, 2, 3, 7)
FIELD = re.compile(r'("(?:[^"]|"")*"|[^",\r\n]*)(,|\r\n|\n|\Z)')


def read(path, chunk_bytes, kept=None):
    """Names and rows of a file, or the line at which it is refused; the same with the kernel compiled and plain."""
    compiled, plain = (read_one_way(path, chunk_bytes, kept, compiled_from) for compiled_from in (0, 2**62))
    assert plain == compiled, path.read_bytes()
    return compiled


def read_one_way(path, chunk_bytes, kept=None, compiled_from=COMPILED_FROM):
    try:
        with FileStream(str(path)) as stream:
            text = CsvText(stream, chunk_bytes=chunk_bytes, compiled_from=compiled_from)
            names = text.names if kept is None else [text.names[place] for place in kept]
            batches = [batch.to_pydict().values() for batch in text.rows(names)]
            return text.names, [row for columns in batches for row in zip(*columns, strict=True)]
    except DataError as error:
        line = re.match(rf"{re.escape(str(path))}(?::(\d+))?: ", str(error))
        return int(line[1]) if line[1] else "names"


def rows_of(text):
    """The rows of a text, with None for null, and where they end: at its end, or at a field that is none."""
    rows, row, place = [], [], 0
    while place < len(text) or row:
        found = FIELD.match(text, place)
        if found is None:
            break
        field, mark = found.groups()
        row.append(field[1:-1].replace('""', '"') if field.startswith('"') else field or None)
        place = found.end()
        if mark != ",":
            rows.append((tuple(row), mark))
            row = []
    return rows, place


def is_well_formed(text):
    rows, end = rows_of(text)
    alike = len({len(row) for row, _ in rows}) < 2 and len({mark for _, mark in rows if mark}) < 2
    return alike and end == len(text) and "\0" not in text


def can_go_on(data):
    """Whether some well-formed file begins like this: one that is this and a little more, if any is."""
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(data)
    except UnicodeDecodeError:
        return False
    tails = ["\n", *(quote + "," * more for quote in ("", '"') for more in range(text.count(",") + 1))]
    return any(is_well_formed(text + tail) for tail in tails)


def judged(data):
    """What must be read, by the definition of the grammar alone."""
    body = data.removeprefix(codecs.BOM_UTF8)
    good = next(end for end in range(len(body), -1, -1) if can_go_on(body[:end]))
    text = body[:good].decode(errors="ignore")
    rows, end = rows_of(text)
    sound = good == len(body) and text.encode() == body and is_well_formed(text)
    if rows and (rows[0][1] or sound):
        names = [name or "" for name in rows[0][0]]
        if not any(names) or len({name.casefold() for name in names}) < len(names):
            return "names"
    if not sound:
        # What is cut off within quotes is at fault where they begin.
        return (text[:end] if good == len(body) and text[end : end + 1] == '"' else text).count("\n") + 1
    return (names, [row for row, _ in rows[1:]]) if rows else "names"


def random_file(draw):
    """Bytes that are often nearly a CSV file."""
    kind = draw.randrange(4)
    if kind == 0:
        alphabet = [b"a", b"b", b",", b",", b'"', b'"', b"\n", b"\n", b"\r\n", b"\r", b"\xc3\xa9", b"\xff", b"\0", b" "]
        return b"".join(draw.choices(alphabet, k=draw.randrange(25)))
    width, newline = draw.randrange(1, 4), draw.choice([b"\n", b"\n", b"\r\n"])
    cells = [
        "",
        '""',
        '"x"',
        "x",
        "é",
        '"a,b"',
        '"a\nb"',
        '"a\r\nb"',
        '"\r"',
        '""""',
        '"""x"""',
        "1",
        '"\n\n"',
        " ",
        "😀",
    ]
    lines = [",".join(["n", "é", '"a ""b"""'][:width])]
    lines += [",".join(draw.choices(cells, k=width)) for _ in range(draw.randrange(6))]
    data = newline.join(line.encode() for line in lines) + draw.choice([newline, newline, b""])
    data = draw.choice([b"", b"", codecs.BOM_UTF8]) + data
    if kind == 1:
        return data
    for _ in range(draw.randrange(1, 3)):
        place = draw.randrange(len(data) + 1)
        odd = draw.choice([b"", b",", b'"', b"\n", b"\r", b"\r\n", b"x", b"\0", b"\xff", b"\xe2\x82", b"\xed\xa0\x80"])
        data = data[:place] + odd + data[place + draw.randrange(2) :]
    return data


@pytest.mark.parametrize("seed", range(3))
def test_a_file_is_read_as_the_grammar_says_or_refused_at_the_line_where_it_ceases_to_hold(tmp_path, seed):
    """Whatever the chunks; Python's own reader agrees on the fields of all files that are well formed."""
    draw = random.Random(seed)
    path = tmp_path / "t.csv"
    sound = refused = 0
    for _ in range(1_000):
        data = random_file(draw)
        path.write_bytes(data)
        truth = judged(data)
        for chunk_bytes in (*TINY, 2**20):
            assert read(path, chunk_bytes) == truth, (data, chunk_bytes)
        if not isinstance(truth, tuple):
            refused += isinstance(truth, int)
            continue
        sound += 1
        names, rows = truth
        text = io.StringIO(data.decode("utf-8-sig"), newline="")
        # For an empty line Python has no field, and for null the empty string.
        theirs = [tuple(row or [""]) for row in csv.reader(text, strict=True)]
        assert theirs == [tuple(names), *(tuple(cell or "" for cell in row) for row in rows)], data
        kept = draw.sample(range(len(names)), draw.randrange(1, len(names) + 1))
        assert read(path, draw.choice(TINY), kept)[1] == [tuple(row[place] for place in kept) for row in rows], data
    assert sound > 250
    assert refused > 250


def test_utf8_is_what_python_takes_for_it(tmp_path):
    """All first bytes, with all that the next ones can do at the bounds of what they may be."""
    path = tmp_path / "t.csv"
    bounds = (0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0)
    sound = 0
    for first in range(0x80, 0x100):
        for second in bounds:
            for rest in (b"", b"\x80", b"\xbf\x80", b"\x80\xc0"):
                data = b"a\n" + bytes([first, second]) + rest
                path.write_bytes(data)
                try:
                    truth = ["a"], [(data[2:].decode(),)]
                    sound += 1
                except UnicodeDecodeError:
                    truth = 2
                assert read(path, 1 + first % 3) == truth, data
    assert sound > 100


BAD = {
    "junk after a closing quote": (b'a,b\n1,2\n"secret"x,2\n', 3, "after its closing quote"),
    "a quote that is never closed": (b'a,b\n1,2\n1,"secret\n2,3\n', 3, "never closed"),
    "a stray CR": (b"a,b\n1,secret\r2,3\n", 2, "a CR that no LF follows"),
    "a CR at the end": (b"a,b\r\n1,secret\r", 2, "a CR that no LF follows"),
    "an LF among CR LF": (b"a,b\r\n1,2\r\nsecret,2\n1,2\r\n", 3, "another newline"),
    "a CR LF among LF": (b"a,b\n1,2\n1,secret\r\n1,2\n", 3, "another newline"),
    "a quote in a bare field": (b'a,b\n1,2\nsecret"x",2\n', 3, "a quote in a field"),
    "a quote after a blank": (b'a,b\n1, "secret"\n', 2, "a quote in a field"),
    "too few fields": (b'a,b\n"1\n2",2\nsecret\n1,2\n', 4, "not as many fields"),
    "too many fields": (b"a,b\n1,2\n1,2,secret\n", 3, "not as many fields"),
    "an empty line": (b"a,b\n1,2\n\n1,secret\n", 3, "not as many fields"),
    "a NUL": (b'a,b\n1,2\n1,"secret\0"\n', 3, "a NUL"),
    "Latin-1": (b"a,b\n1,2\n1,secr\xe9t\n", 3, "not UTF-8"),
    "a character cut off": (b"a,b\n1,secret\xe2\x82", 2, "not UTF-8"),
    "a name that is not UTF-8": (b"a,secret\xff\n", 1, "not UTF-8"),
}


@pytest.mark.parametrize(("data", "line", "message"), BAD.values(), ids=BAD)
@pytest.mark.parametrize("value", ["1", 10**60], ids=["rows are within", "no row can be within"])
def test_a_file_that_is_not_well_formed_is_refused_when_it_is_encoded(tmp_path, data, line, message, value):
    """With the line and nothing from the file; also where a bad line stands among many good ones."""
    path = tmp_path / "people.csv"
    domain = Domain({"a": Categorical([value])})
    newline = b"\r\n" if b"a,b\r\n" in data else b"\n"
    names, separator, rest = data.partition(newline)
    for more in (0, 200_000):
        path.write_bytes(names + separator + (b"1,2" + newline) * more + rest if separator else data)
        expected_line = line + (more if line > 1 else 0)
        with pytest.raises(DataError, match=rf"people\.csv:{expected_line}: .*{message}") as caught:
            write_table(place_of(str(path), None, domain, tmp_path / "codes"))
        assert not (tmp_path / "codes").exists()
        assert "secret" not in str(caught.value)
        assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_a_header_alone_is_an_empty_table_and_lines_of_one_column_may_be_empty(tmp_path):
    path = tmp_path / "t.csv"
    attribute = Categorical(["x"], nullable=True)
    for data, counts in [(b"a", [0, 0]), (b"a\n", [0, 0]), (b"b,a\r\n", [0, 0]), (b"a\nx\n\n\nx", [2, 2])]:
        path.write_bytes(data)
        assert counted(path, None, attribute) == counts
    for data in (b"", codecs.BOM_UTF8, b"\n", b"\n\n"):
        path.write_bytes(data)
        with pytest.raises(DataError, match="first line must be names"):
            counted(path, None, attribute)


def test_rows_beyond_one_batch_and_fields_beyond_one_chunk_are_whole(tmp_path):
    """Many short rows in one chunk, and a field of several chunks, kept and not."""
    path = tmp_path / "t.csv"
    long = 'x\n,"é' * 800_000
    cells = [str(number % 7) for number in range(100_000)]
    quoted = '"' + long.replace('"', '""') + '"'
    path.write_text("a,b\n" + "".join(f"{cell},\n" for cell in cells) + f"1,{quoted}\n2,3\n")
    assert path.stat().st_size > 4 * 2**20
    rows = [*((cell, None) for cell in cells), ("1", long), ("2", "3")]
    assert read_one_way(path, 2**20) == (["a", "b"], rows)
    assert read_one_way(path, 2**20, [0])[1] == [(cell,) for cell, _ in rows]


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a\n" + "1\n" * 1_000)
    with FileStream(str(path)) as stream:
        rows = CsvText(stream, chunk_bytes=100).rows(["a"])
        next(rows)
        with path.open("a") as more:
            more.write("2\n")
        with pytest.raises(DataError, match="changed while it was read"):
            list(rows)


@pytest.mark.parametrize(
    ("encoding", "data", "line"),
    [
        ("cp1252", b"a\nx\nsecret\x81\n", 3),
        ("utf-16", "a\nx\nsecret\n".encode("utf-16")[:-1], 3),
        ("utf-16-le", b"a\0\n\0s\0\x00\xd8x\0\n\0", 2),
        ("ascii", b"a\nsecret\xe9\n", 2),
    ],
)
def test_bytes_that_are_not_in_the_declared_encoding_refuse_the_file(tmp_path, encoding, data, line):
    """With the line, and nothing from the file; halves of characters are no text in any encoding."""
    path = tmp_path / "t.csv"
    path.write_bytes(data)
    place = place_of(str(path), None, Domain({"a": Categorical(["x"])}), tmp_path / "codes", Reading(encoding=encoding))
    with pytest.raises(DataError, match=rf"t\.csv:{line}: bytes that are not in the encoding") as caught:
        write_table(place)
    assert "secret" not in str(caught.value)
    assert caught.value.__suppress_context__


def test_a_packed_file_that_is_cut_off_is_refused(tmp_path):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"a\n" + b"x\n" * 1_000))
    assert counted(path, None, Categorical(["x"])) == [1_000]
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(DataError, match="cannot be read to its end"):
        counted(path, None, Categorical(["x"]))


def test_a_file_just_below_the_size_that_is_compiled_and_one_just_above_are_read_alike(tmp_path):
    """By the way that their sizes choose; the small one of several batches of chunks."""
    path = tmp_path / "t.csv"
    lines = [f'{number},{"é" * (number % 5)},"a, {number}"' for number in range(6_000)]
    for count in (4_000, 6_000):
        path.write_text("\n".join(["a,b,c", *lines[:count]]))
        assert (path.stat().st_size < COMPILED_FROM) == (count == 4_000)
        rows = [(str(number), "é" * (number % 5) or None, f"a, {number}") for number in range(count)]
        for chunk_bytes in (1_000, 2**20):
            assert read_one_way(path, chunk_bytes) == (["a", "b", "c"], rows)
