"""A file's text, a flag set or facts, without any host."""

from pathlib import Path

from stoker.serving.checking import written

PAGE = Path(__file__).parents[3] / "docs" / "checks.md"


def test_the_facts_that_the_documentation_shows_can_be_read() -> None:
    told = PAGE.read_text()
    shown = told[told.index("`--facts` gives") :].split("```yaml\n")[1].split("```")[0]
    found = written.facts(shown)
    assert found.gpus.count == 8 and found.host.mem_available_gb == 449
    assert found.model and found.model.mla and found.draft and found.draft.keys
    assert found.files and found.files.tokenizer and found.software["cuda"] == "13.0"
    assert found.others[0].ports == (30001,)
