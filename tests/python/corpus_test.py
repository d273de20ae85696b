# tests/python/corpus_test.py: dictionaries that once did harm (`./umbel fuzz` writes them down) do no more.
import pathlib
import sys

import pytest

root = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(root / "fuzzer"))
import dictionaries  # noqa: E402

FILES = sorted((root / "fuzz" / "corpus").glob("dictionary.*"))


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.name)
def test_dictionaries_that_did_harm(file):
    dictionaries.replay(file)


def test_damage_is_the_same_for_the_same_seed():
    assert repr(dictionaries.damaged(7)) == repr(dictionaries.damaged(7))
    assert len({repr(dictionaries.damaged(i)) for i in range(20)}) > 15
