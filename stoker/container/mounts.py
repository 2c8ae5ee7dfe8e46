"""A container's mounts, `mpN`, matched by where they appear inside."""

from collections.abc import Collection, Mapping, Sequence

from pydantic import model_validator

from stoker.container import property_string, slots
from stoker.container.allowed import Gib, Source, Strict, Target
from stoker.container.property_string import Edit, bytes_of

WHEELS = "/var/lib/stoker/wheels"
"""The node's wheels, which a role of their own mounts (stoker.serving.layout.WHEELS)."""
GIB = 1 << 30


class Mount(Strict):
    """A directory of the node (`source` is a path) or a volume (`source` is a storage)."""

    source: Source
    target: Target
    size_gib: Gib | None = None
    """Of a volume; it grows and never shrinks."""
    read_only: bool | None = None
    """None: as it is, and writable when it is new."""
    backup: bool | None = None
    """Of a volume: whether backups hold it."""

    @model_validator(mode="after")
    def _is_one_of_the_two(self) -> "Mount":
        if self.is_bind and self.size_gib is not None:
            raise ValueError("has a size_gib, which only a volume has; its source is a path")
        if self.target in ("/", WHEELS):
            raise ValueError(f"has the target {self.target}, which is not for a mount of yours")
        return self

    @property
    def is_bind(self) -> bool:
        """Whether it is a directory of the node. Only root@pam may set such a one."""
        return self.source.startswith("/")

    @property
    def said(self) -> dict[str, str]:
        """What is said of it beyond its source."""
        flags = {"ro": self.read_only, "backup": self.backup}
        return {key: str(int(flag)) for key, flag in flags.items() if flag is not None}

    @property
    def new(self) -> str:
        """The value that makes it."""
        source = self.source if self.is_bind else f"{self.source}:{self.size_gib}"
        return property_string.render("mp", {"volume": source, "mp": self.target, **self.said})

    def edit(self, text: str | None) -> str:
        """What the value becomes."""
        if text is None:
            return self.new
        source = {"volume": self.source} if self.is_bind else {}
        before = property_string.parse("mp", text)
        return property_string.render("mp", {**before, **source, **self.said})


def edits(mounts: Sequence[Mount], there: Sequence[Mapping[str, str]]) -> dict[str, Edit]:
    """Key -> what its value becomes; those of another kind than said are left out (`told`)."""
    found: dict[str, Edit] = {}
    for mount in mounts:
        key = key_of(mount, there, found)
        if key is None:
            found[slots.free("mp", [*there, found])] = mount.edit
        elif not _other_kind(mount, _fields(key, there)):
            found[key] = mount.edit
    return found


def lacking(mounts: Sequence[Mount], there: Sequence[Mapping[str, str]]) -> list[str]:
    """What is not said of those that are not there yet."""
    return [
        f"container.mounts: {mount.target} is new and has no size_gib"
        for mount in mounts
        if not mount.is_bind and mount.size_gib is None and key_of(mount, there) is None
    ]


def told(mounts: Sequence[Mount], there: Sequence[Mapping[str, str]]) -> list[str]:
    """What differs and is not changed."""
    found = []
    for mount in mounts:
        fields = _fields(key_of(mount, there), there)
        volume = fields.get("volume", "")
        size = bytes_of(fields.get("size", "")) or 0
        if not fields:
            continue
        if _other_kind(mount, fields):
            found.append(
                f"mounts: {mount.target} is {volume}, not {mount.source}; "
                "move what it holds and remove it yourself"
            )
        elif mount.size_gib and size > mount.size_gib * GIB:
            found.append(
                f"mounts: {mount.target} has {fields['size']}, more than size_gib "
                f"{mount.size_gib}; a volume never shrinks"
            )
    return found


def growths(mounts: Sequence[Mount], there: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Key -> new size of the volumes that are smaller than said."""
    found = {}
    for mount in mounts:
        key = key_of(mount, there)
        fields = _fields(key, there)
        size = bytes_of(fields.get("size", ""))
        if key is None or size is None or mount.size_gib is None or _other_kind(mount, fields):
            continue
        if size < mount.size_gib * GIB:
            found[key] = f"{mount.size_gib}G"
    return found


def is_bind(key: str, value: str) -> bool:
    """Whether this key of a configuration mounts a directory of the node."""
    stem = slots.stem_of(key)
    return stem == "mp" and property_string.parse(stem, value).get("volume", "").startswith("/")


def key_of(
    mount: Mount, there: Sequence[Mapping[str, str]], besides: Collection[str] = ()
) -> str | None:
    """The key that mounts something at its target; None: nothing is there."""
    return slots.find("mp", there, "mp", mount.target, besides)


def _fields(key: str | None, there: Sequence[Mapping[str, str]]) -> Mapping[str, str]:
    text = next((keys[key] for keys in there if key in keys), "") if key else ""
    return property_string.parse("mp", text)


def _other_kind(mount: Mount, fields: Mapping[str, str]) -> bool:
    volume = fields.get("volume", "")
    if mount.is_bind:
        return not volume.startswith("/")
    return volume.partition(":")[0] != mount.source
