import pytest
from hypothesis import given
from hypothesis import strategies as st

from stoker.serving.rules.algorithms import ALL, left_to

RING_ONLY = frozenset({"ring"})


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Tree", {"tree"}),
        ("tree,Ring", {"tree", "ring"}),
        ("^Tree", ALL - {"tree"}),
        ("^ring,Tree", ALL - {"tree", "ring"}),
        ("NVLS_TREE", {"nvlstree"}),
        ("allreduce:tree", ALL),
        ("allreduce:tree;allgather:ring", {"ring"}),
        ("AllGather:Tree", {"tree"}),
        (
            "ring,collnetdirect;allreduce:tree,collnetdirect;broadcast:ring",
            {"ring", "collnetdirect"},
        ),
        ("tree;allgather:^tree", ALL - {"tree"}),
        ("", ALL),
    ],
)
def test_a_value_leaves_all_gather_what_nccl_would(text: str, left: set[str]) -> None:
    assert left_to("AllGather", text) == left


@pytest.mark.parametrize("text", ["Rnig", "Tree, Ring", "allreduce:tree;ring", "CollNet"])
def test_what_nccl_does_not_read_is_told_from_what_it_reads(text: str) -> None:
    assert left_to("AllGather", text) is None


@given(st.sets(st.sampled_from(sorted(ALL)), min_size=1), st.booleans())
def test_a_list_and_its_complement_share_nothing(names: set[str], upper: bool) -> None:
    text = ",".join(sorted(names))
    text = text.upper() if upper else text
    kept, taken = left_to("AllGather", text), left_to("AllGather", f"^{text}")
    assert kept is not None and taken is not None
    assert kept | taken == ALL and not kept & taken


@given(st.text())
def test_no_text_is_too_odd(text: str) -> None:
    left = left_to("AllGather", text)
    assert left is None or left <= ALL
