"""A sitecustomize that claims one RTX PRO 6000: enough for what SGLang asks before it computes."""

import torch


class _Properties:
    name = "NVIDIA RTX PRO 6000 Blackwell Server Edition"
    major, minor = 12, 0
    total_memory = 97887 << 20
    multi_processor_count = 188
    is_integrated = False
    warp_size = 32
    uuid = "00000000-0000-0000-0000-000000000000"
    shared_memory_per_block_optin = 101376


_cuda = torch.cuda
_cuda.is_available = lambda: True
_cuda.is_initialized = lambda: True
_cuda.device_count = lambda: 1
_cuda.current_device = lambda: 0
_cuda.get_device_capability = lambda device=None: (12, 0)
_cuda.get_device_name = lambda device=None: _Properties.name
_cuda.get_device_properties = lambda device=None: _Properties
_cuda.mem_get_info = lambda device=None: (96000 << 20, 97887 << 20)
_cuda.set_device = lambda device: None
_cuda.synchronize = lambda device=None: None
_cuda.empty_cache = lambda: None
