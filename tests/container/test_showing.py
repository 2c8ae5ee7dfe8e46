from stoker.container import showing
from stoker.container.difference import Change, Difference, Effect


def test_each_line_says_when_it_holds() -> None:
    found = Difference(
        changes=(
            Change("memory", "512", "8192", Effect.PLUGGED),
            Change("dev2", None, "/dev/nvidia2,mode=0666", Effect.RESTART),
            Change("dev3", "/dev/nvidia3", None, Effect.RESTART),
            Change("dev4", "/dev/nvidia4", None, Effect.NOW, reverted=True),
            Change("description", "a", "b\nc\\", Effect.NOW),
        ),
        told=("storage: the root file system is on local, not local-zfs",),
        waiting=(
            Change("features", None, "nesting=1", Effect.RESTART),
            Change("mp3", "/a,mp=/b", None, Effect.RESTART),
        ),
        growths=(("rootfs", "64G"),),
    )
    assert showing.lines(200, "gpu-a", found) == [
        "CT 200 (gpu-a):",
        "- memory: 512",
        "+ memory: 8192  (plugged in while it runs)",
        "+ dev2: /dev/nvidia2,mode=0666  (at the next start)",
        "- dev3: /dev/nvidia3  (at the next start)",
        "- dev4: /dev/nvidia4  (taken back before it came)",
        "- description: a",
        "+ description: b\\nc\\\\  (at once)",
        "+ rootfs: grows to 64G  (at once)",
        "  features: becomes nesting=1 at the next start; it is set already",
        "  mp3: goes at the next start; it is set already",
        "! storage: the root file system is on local, not local-zfs",
    ]


def test_no_difference_has_no_line() -> None:
    assert showing.lines(200, "gpu-a", Difference()) == []


def test_a_new_container_shows_what_it_is_made_with() -> None:
    assert showing.lines(200, "gpu-a", {"cores": "4", "description": "x" * 200}) == [
        "CT 200 (gpu-a) is made:",
        "+ cores: 4",
        f"+ description: {'x' * 157}...",
    ]
