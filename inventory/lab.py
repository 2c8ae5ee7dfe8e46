"""A lab: one Proxmox node with a container that holds eight GPUs. Edit it to be yours."""

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
            # These servers listen on every address: give them a key, from where secrets live.
            # "secrets": {"*": {"API_KEY": os.environ["LAB_API_KEY"]}},
        },
    ),
]
