"""What a server of a venv runs on: its packages, the driver and the GPUs, read and not imported."""

import csv
import re

from pyinfra.api import FactBase, QuoteString, StringCommand

from stoker.serving.evidence.machine import Gpu, Machine

# nvidia-smi hangs with a broken GPU; then the kernel's own files still name driver and models.
_READ = r"""
venv=$1
for package in sglang torch; do
    for info in "$venv"/lib/python3*/site-packages/$package-*.dist-info; do
        [ -d "$info" ] || continue
        version=${info##*/$package-}
        echo "$package ${version%.dist-info}"
    done
done
for file in "$venv"/lib/python3*/site-packages/torch/version.py; do
    [ -f "$file" ] || continue
    sed -nE "s/^__version__ *= *'([^']+)'.*/torch \1/p
        s/^cuda(: [^=]+)? *= *'([^']+)'.*/cuda \2/p" "$file"
done
cd /proc/driver/nvidia 2>/dev/null || exit 0
sed -nE 's/^NVRM version:.* ([0-9]+\.[0-9.]+) .*/driver \1/p' version
sed -n 's/^Model:[[:space:]]*/model /p' gpus/*/information 2>/dev/null
command -v nvidia-smi >/dev/null || exit 0
timeout --kill-after=2 20 nvidia-smi --format=csv,noheader,nounits \
    --query-gpu=index,name,memory.total,compute_cap,driver_version 2>/dev/null | sed 's/^/smi /'
exit 0
"""


class Versions(FactBase[Machine | None]):
    """A `Machine`; None: nobody could look.

    Source: dist-info directories and torch's version.py, nvidia-smi, else the driver's own files.
    """

    def command(self, venv: str) -> StringCommand:
        return StringCommand("sh", "-c", QuoteString(_READ), "sh", QuoteString(venv))

    def process(self, output: list[str]) -> Machine | None:
        rows = [line.partition(" ")[::2] for line in output]
        last = {key: value.strip() for key, value in rows}
        smi = _smi([value for key, value in rows if key == "smi"])
        models = [value.strip() for key, value in rows if key == "model"]
        driver = last.get("driver") or next((driver for _, driver in smi), None)
        return Machine(
            sglang=last.get("sglang"),
            # The later one is torch's own, with its build.
            torch=last.get("torch"),
            cuda=last.get("cuda"),
            driver=driver,
            gpus=tuple(gpu for gpu, _ in smi) or _named(models),
        )


def _smi(lines: list[str]) -> list[tuple[Gpu, str]]:
    """GPUs with the driver's version; what is no such row (an error in words) is left out."""
    found = []
    for row in csv.reader(lines, skipinitialspace=True):
        if len(row) == 5 and row[0].isdecimal():
            index, name, memory, capability, driver = (one.strip() for one in row)
            gpu = Gpu(int(index), name, _number(memory), _number(capability.replace(".", "")))
            found.append((gpu, driver))
    return found


def _named(models: list[str]) -> tuple[Gpu, ...]:
    """By their files' names, which are in the order of the bus."""
    known = [model for model in models if not re.fullmatch(r"\?*|Unknown", model)]
    return tuple(Gpu(index, model) for index, model in enumerate(known))


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() else None
