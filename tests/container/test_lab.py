"""The lab that ships can be made as it stands, but for its addresses and names."""

import runpy
from pathlib import Path

from stoker.container import wanted
from stoker.container.wanted import Wanted

ROOT = Path(__file__).parents[2]


def test_its_data_are_sound_and_say_all_that_a_new_container_needs() -> None:
    lab = runpy.run_path(str(ROOT / "inventory" / "lab.py"))
    hosts = dict(lab["inference"])
    wanted.check(hosts)
    for data in hosts.values():
        Wanted.of(data["container"]).require_creatable()


def test_its_models_are_mounted_where_its_flag_set_looks_for_them() -> None:
    data = runpy.run_path(str(ROOT / "inventory" / "lab.py"))["inference"][0][1]
    [name] = data["flagsets"]
    text = (ROOT / "group_data" / "flagsets" / f"{name}.yaml").read_text()
    assert all(f"staged_from: {m['target']}/" in text for m in data["container"]["mounts"])
