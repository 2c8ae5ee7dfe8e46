import subprocess
from hashlib import sha256
from pathlib import Path

from stoker.facts.files import FileState, FileStates


def test_files_are_told_by_content_mode_and_owner_and_others_are_absent(tmp_path: Path) -> None:
    file, link = tmp_path / "a b", tmp_path / "link"
    file.write_text("x")
    file.chmod(0o600)
    link.symlink_to(file)
    command = FileStates().command((str(file), str(link), str(tmp_path / "none")))
    output = subprocess.run(
        ["sh", "-c", command.get_raw_value()], capture_output=True, text=True, check=True
    ).stdout
    states = FileStates().process(output.splitlines())
    owner = f"{file.owner()}:{file.group()}"
    assert states == {str(file): FileState(sha256(b"x").hexdigest(), 0o600, owner)}
