"""How far a server had come, from the lines that it prints on the way."""

from __future__ import annotations

import re

# What a message begins with -> the phase that begins with it; the first that fits.
_MARKS: tuple[tuple[str, str], ...] = (
    ("server_args=ServerArgs(", "import"),
    ("Init torch distributed begin", "dist_init"),
    ("Init parallel begin", "dist_init"),
    ("Init torch distributed ends", "dist_init"),
    ("Init parallel ends", "dist_init"),
    ("Memory baseline taken", "dist_init"),
    ("sglang is using nccl", "dist_init"),
    ("Load weight begin", "load"),
    ("Load weight end", "kv_pool"),
    ("Using KV cache dtype", "kv_pool"),
    ("KV Cache is allocated", "kv_pool"),
    ("Mamba Cache is allocated", "kv_pool"),
    ("Memory pool end", "kv_pool"),
    ("max_total_num_tokens=", "scheduler_init"),
    ("Tree cache initialized", "scheduler_init"),
    ("Started server process", "bind"),
    ("Waiting for application startup", "bind"),
    ("Application startup complete", "bind"),
    ("Uvicorn running on", "bind"),
    ("The server is fired up", "ready"),
)
_GRAPH = re.compile(r"Capture .{0,60}(?:cuda|CUDA|cpu|npu).{0,12}graph.{0,20} (begin|end)\b")
_HICACHE = re.compile(
    r"Allocating .{0,60}host memory for hierarchical|Allocating .{1,40}KV host po"
)
_NEWER = ("Init parallel begin", "Memory baseline taken", "Init parallel ends")
LETTERS = frozenset(mark[:4] for mark, _ in _MARKS) | {"Capt", "Allo"}
"""What a line that marks a phase begins with."""

# Functions of a traceback -> the phase that they belong to, the innermost deciding.
_FUNCTIONS: tuple[tuple[str, str], ...] = (
    (r"eagle_worker|draft_worker|multi_layer_eagle|standalone_worker|dflash_worker", "draft_load"),
    (r"forward_extend\b|forward_prefill|prefill_delayer|get_new_batch_prefill", "prefill"),
    (r"forward_decode\b|update_running_batch", "decode"),
    (r"cuda_graph_runner|init_device_graphs|init_cuda_graphs|cuda_graph_setup", "graph_capture"),
    (r"hiradix_cache|memory_pool_host|pool_host[/\\]|hicache|cache_controller", "hicache"),
    (r"init_memory_pool|_init_pools|memory_pool\.py|pool_configurator|kv_cache_mixin", "kv_pool"),
    (r"kv_cache_configurator|kv_pool_runtime", "kv_pool"),
    (r"load_model\b|load_weights|_get_all_weights|weight_utils|_initialize_model", "load"),
    (r"init_torch_distributed|init_model_parallel|initialize_model_parallel", "dist_init"),
    (r"init_distributed_environment|init_parallel|distributed/bootstrap", "dist_init"),
    (r"event_loop_|run_event_loop|dispatch_event_loop|process_batch_result", "decode"),
    (r"run_scheduler_process", "scheduler_init"),
)
_DRAFT = re.compile(_FUNCTIONS[0][0])
_FRAMES = tuple((re.compile(pattern), phase) for pattern, phase in _FUNCTIONS)
RUNNING = ("ready", "prefill", "decode", "serving")
WARMING = ("scheduler_init", "bind")
"""The last marks before the first request, SGLang's own, is answered."""
START = ("", "import", "flags", "dist_init", "load", "draft_load", "kv_pool", "graph_capture")


class Phases:
    """The marks of one run, each rank's for itself."""

    def __init__(self) -> None:
        self.by_rank: dict[str, str] = {}
        self.marked: dict[str, int] = {}
        self.last = ""
        self.last_number = 0
        self.last_stamp: float | None = None
        self.weights_ended: set[str] = set()
        self.ready: int | None = None
        self.newer: bool | None = None
        """Whether it names its flags as 0.5.23 does; None: nothing tells."""

    def mark(self, number: int, stamp: float | None, rank: str, text: str) -> str:
        """The phase that begins with this line; empty: none does."""
        phase = _marked(text)
        if not phase:
            return ""
        if text.startswith(_NEWER) or "Capture target decode" in text:
            self.newer = True
        elif text.startswith("Init torch distributed"):
            self.newer = False
        if phase == "load" and rank in self.weights_ended:
            phase = "draft_load"
        if text.startswith("Load weight"):
            self.weights_ended.add(rank)
        if len(self.by_rank) < 512:
            self.by_rank[rank] = phase
            self.marked[rank] = number
        self.last, self.last_number, self.last_stamp = phase, number, stamp
        if phase == "ready":
            self.ready = number
        return phase

    def of(self, rank: str, batch: tuple[int, str]) -> str:
        """Where that rank was; `batch`: number and kind of the last batch line, if any."""
        known = rank in self.by_rank
        phase = self.by_rank[rank] if known else self.last
        number = self.marked[rank] if known else self.last_number
        if self.ready is not None and number <= self.ready:
            phase, number = "ready", self.ready
        return batch[1] if batch[1] and batch[0] > number else phase


def of_frames(frames: list[str]) -> str:
    """The phase that a traceback's frames (`file:function`) show; empty: none."""
    for frame in reversed(frames):
        if frame.endswith(":<module>"):
            return "import"
        for pattern, phase in _FRAMES:
            if pattern.search(frame):
                draft = phase == "load" and any(_DRAFT.search(other) for other in frames)
                return "draft_load" if draft else phase
    return ""


def _marked(text: str) -> str:
    for start, phase in _MARKS:
        if text.startswith(start):
            return phase
    if text.startswith("Capture "):
        found = _GRAPH.match(text)
        if found:
            return "graph_capture" if found[1] == "begin" else "scheduler_init"
        return "graph_capture" if text.startswith("Capture cuda graph bs") else ""
    if text.startswith("Capturing "):
        return "graph_capture"
    if text.startswith("Allocating ") and _HICACHE.match(text):
        return "hicache"
    return ""
