"""A file is written whole or not at all, and nothing else is left behind."""

import pytest

from labkit.files import write_text


def test_a_written_file_is_alone_in_its_folder(tmp_path):
    write_text(tmp_path / "a.txt", "订单\r\n")
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
    assert (tmp_path / "a.txt").read_bytes() == "订单\r\n".encode()


def test_what_cannot_be_written_leaves_the_old_file_and_no_rest(tmp_path):
    write_text(tmp_path / "a.txt", "old")
    with pytest.raises(UnicodeEncodeError):
        write_text(tmp_path / "a.txt", "new \ud800")
    assert [path.read_text(encoding="utf-8") for path in tmp_path.iterdir()] == ["old"]
