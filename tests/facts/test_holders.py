from pathlib import Path

from stoker.facts.holders import Holder, Holders

RECORDED = Path(__file__).parent / "recorded" / "holders.txt"


def test_a_server_started_by_hand_is_recognised_and_its_key_hidden() -> None:
    ours, foreign = Holders().process(RECORDED.read_text().splitlines())
    assert (ours.unit, ours.ports, ours.survives_hangup) == (
        "sglang@0.service",
        frozenset({30000}),
        False,
    )
    assert (foreign.unit, foreign.ports, foreign.serves) == (None, frozenset({31000}), True)
    assert str(foreign) == (
        "process 9159 (started by hand with nohup): /root/venv/bin/python -m sglang.launch_server "
        "--model-path /x --host 127.0.0.1 --port 31000 --api-key ***"
    )


def test_a_holder_of_gpus_is_told_by_their_numbers() -> None:
    (holder,) = Holders().process(
        ["Pid=7", "Holds= gpu:0 gpu:3", "PPid=1", "Cgroup=/", "Word=sglang::scheduler_TP0", ""]
    )
    assert holder.gpus == frozenset({0, 3})
    assert holder.serves


def test_a_session_of_a_user_is_by_hand_and_a_service_is_not() -> None:
    def unit(cgroup: str) -> str | None:
        block = ["Pid=7", "Holds=port:1F90", "PPid=1", f"Cgroup={cgroup}", ""]
        holder: Holder = Holders().process(block)[0]
        return holder.unit

    assert unit("/user.slice/user-0.slice/user@0.service/app.slice/x.service") is None
    assert unit("/user.slice/user-0.slice/session-3.scope") is None
    assert unit("/system.slice/vllm.service") == "vllm.service"
    assert unit("/system.slice/system-sglang.slice/sglang@0.service") == "sglang@0.service"


def test_nobody_holds_anything_where_there_is_no_output() -> None:
    assert Holders().process([]) == Holders.default() == []
