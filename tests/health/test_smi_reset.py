import pytest

from stoker.health import smi_reset

GPU = "GPU 00000000:01:00.0"
MESSAGES = [
    (0, f"{GPU} was successfully reset.\nAll done.", "reset"),
    (255, f"{GPU} is currently in use by another process.", "in-use"),
    (
        255,
        "The following GPUs could not be reset:\n  GPU 00000000:01:00.0: In use by another client",
        "in-use",
    ),
    (
        255,
        "1 device(s) are currently being used by one or more other processes (e.g., Fabric "
        "Manager, CUDA application, graphics application such as an X server, or a monitoring "
        "application such as another instance of nvidia-smi).",
        "in-use",
    ),
    (3, f"Resetting {GPU} is not supported.", "unsupported"),
    (255, f"GPU Reset couldn't run because {GPU} is the primary GPU.", "unsupported"),
    (255, f"GPU Reset couldn't run because {GPU} is in vGPU mode.", "unsupported"),
    (255, f"GPU reset unavailable: {GPU}", "unsupported"),
    (
        255,
        "GPU Reset couldn't progress because (e.g. NVLink connected GPUs must be reset together). "
        "Please append the following device indexes",
        "peers",
    ),
    (
        255,
        "1 device did not complete reset successfully, and may be in an unstable state. Please "
        "reboot your system.",
        "unstable",
    ),
    (255, f"The following GPUs could not be reset:\n  {GPU}: Unknown Error", "failed"),
    (4, "Insufficient Permissions", "denied"),
    (0, "", "unknown"),
    (0, "All done.", "unknown"),
    (1, f"{GPU} was successfully reset.", "unknown"),
    (None, f"{GPU} was successfully reset.", "hung"),
]


@pytest.mark.parametrize(("code", "said", "state"), MESSAGES)
@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.scenario("P5")
def test_every_message_of_a_reset_is_understood(
    code: int | None, said: str, state: str, upper: bool
) -> None:
    assert smi_reset.outcome(code, said.upper() if upper else said) == state


def test_a_reset_of_one_and_not_of_another_is_no_reset() -> None:
    said = f"{GPU} was successfully reset.\nGPU 2 is currently in use by another process."
    assert smi_reset.outcome(0, said) == "in-use"
