"""A lab: one Proxmox node, and a container on it with all its GPUs. Edit it to be yours.

docs/container.md has every key. A container that is there already is used as it is without the data
`container`; with it, what the data say is made so, and the rest of it stays.
"""

pve = [
    ("@pct/pve1", {"ssh_hostname": "192.0.2.10", "ssh_user": "root"}),
]

inference = [
    (
        "@pct/gpu-a",
        {
            "pct_host": "pve1",
            "pct_vmid": 200,
            "flagsets": ["qwen3.6-27b"],
            "container": {
                # As `pveam list local` and `pvesm status` name them on the node.
                "template": "local:vztmpl/debian-12-standard_12.12-1_amd64.tar.zst",
                "storage": "local-zfs",
                "rootfs_gib": 64,
                "hostname": "gpu-a",
                "cores": 32,
                # The model's copy in /dev/shm counts.
                "memory_mib": 450_560,
                "networks": [{"name": "eth0", "bridge": "vmbr0", "ip": "dhcp"}],
                "features": {"nesting": True},
                # A directory of the node, where the flag set looks for its model.
                "mounts": [{"source": "/tank/models", "target": "/data/models", "read_only": True}],
                # Or some of them, by UUID, as `nvidia-smi -L` has it on the node.
                "gpus": "all",
                "onboot": True,
                "tags": ["stoker"],
            },
            # These servers listen on every address: give them a key, from where secrets live.
            # "secrets": {"*": {"API_KEY": os.environ["LAB_API_KEY"]}},
        },
    ),
]
