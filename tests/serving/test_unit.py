import pytest

from stoker.refused import Refused
from stoker.serving.placement import refuse_conflicts
from stoker.serving.rendering import digest, env_text, files_of, unit_text
from tests.serving.flagsets import CUDA, VENV, units

EIGHT = {"layout": "one-per-gpu", "gpus": tuple(range(8))}


def test_one_flag_set_makes_a_unit_a_gpu_with_ports_of_its_own() -> None:
    eight = units(placement=EIGHT)
    assert [u.name for u in eight] == [f"sglang@{n}.service" for n in range(8)]
    assert [u.port for u in eight] == list(range(30000, 30008))
    assert [u.nccl_port for u in eight] == list(range(29000, 29008))
    assert dict(eight[3].environment)["CUDA_VISIBLE_DEVICES"] == "3"
    refuse_conflicts(eight)


def test_tensor_parallel_is_one_unit_with_as_many_ranks_as_gpus() -> None:
    (unit,) = units(placement={"layout": "tensor-parallel", "gpus": (4, 5)})
    assert unit.name == "sglang.service"
    assert unit.argv[-2:] == ("--tp-size", "2")
    assert dict(unit.environment)["CUDA_VISIBLE_DEVICES"] == "4,5"


def test_the_command_line_holds_full_options_in_one_order() -> None:
    (unit,) = units(flags={"z": True, "lora-paths": ("a", "b"), "device": "cpu"})
    assert unit.argv[2:] == (
        *("--model-path", "/models/tiny", "--host", "127.0.0.1", "--port", "30000"),
        *("--nccl-port", "29000", "--device", "cpu", "--lora-paths", "a", "b", "--z"),
    )


def test_the_unit_finds_the_venvs_programs_and_the_toolkit_first() -> None:
    (unit,) = units()
    environment = dict(unit.environment)
    assert environment["CUDA_HOME"] == str(CUDA)
    assert environment["PATH"].startswith(f"{VENV}/bin:{CUDA}/bin:/usr/local/sbin:")


def test_compiled_kernels_live_in_a_tree_of_the_venv() -> None:
    (unit,) = units()
    cache = "/var/cache/stoker/sglang-0.5.12-0123456789ab"
    assert unit.cache == cache
    assert dict(unit.environment)["HOME"] == cache


def test_a_secret_is_in_the_environment_file_only() -> None:
    secrets = {"*": {"API_KEY": "sk-all"}, "sglang": {"HF_TOKEN": "hf-one"}}
    (unit,) = units(secrets=secrets)
    assert 'STOKER_API_KEY="sk-all"' in env_text(unit)
    assert 'HF_TOKEN="hf-one"' in env_text(unit)
    assert "\nSecrets=STOKER_API_KEY HF_TOKEN\n" in unit_text(unit)
    for place in (unit_text(unit), repr(unit), " ".join(unit.argv), repr(files_of([unit]))):
        assert "sk-all" not in place
        assert "hf-one" not in place
    modes = {file.path.name: file.mode for file in files_of([unit])}
    assert modes["sglang.env"] == 0o600


def test_the_digest_moves_with_flags_and_secrets_of_its_own_unit_only() -> None:
    (plain,), (flagged,) = units(), units(flags={"z": True})
    (keyed,) = units(secrets={"sglang": {"API_KEY": "x"}})
    assert len({digest(plain), digest(flagged), digest(keyed)}) == 3
    assert digest(plain) == digest(units(secrets={"sglang@0": {"API_KEY": "x"}})[0])


def test_the_digest_moves_with_the_model_that_is_copied_into_memory() -> None:
    first, second = (
        units(model={"path": "/dev/shm/m", "staged_from": source})[0] for source in ("/a", "/b")
    )
    assert digest(first) != digest(second)
    with pytest.raises(Refused, match=r"/dev/shm/m would be filled from /a of tiny and /b of tiny"):
        refuse_conflicts([first, second])


def test_flag_sets_that_want_the_same_port_gpu_or_name_are_refused_together() -> None:
    one = units(name="one", placement={"layout": "one-per-gpu", "gpus": (0, 1)})
    two = units(name="two", placement={"layout": "one-per-gpu", "gpus": (1, 2)}, port=31000)
    with pytest.raises(Refused) as refused:
        files_of([*one, *two])
    text = str(refused.value)
    assert "GPU 1 is wanted by sglang@1.service of one and sglang@1.service of two" in text
    assert "sglang@1.service is wanted by" in text
    assert "port 30001 is wanted by" in text  # two's NCCL port is one's own


def test_a_server_listening_everywhere_is_asked_on_loopback() -> None:
    (unit,) = units(host="0.0.0.0")
    assert (unit.url, unit.local_url) == ("http://0.0.0.0:30000", "http://127.0.0.1:30000")
