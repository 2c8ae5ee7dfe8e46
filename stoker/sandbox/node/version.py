"""Stand-in: the versions this node claims: those the transcripts were taken from."""

MANAGER = "9.2.11"
RELEASE = "9.2"
REPOSITORY = "a1b2c3d4e5f60718"
PACKAGES = {
    "proxmox-ve": "9.2.0",
    "pve-manager": MANAGER,
    "libpve-common-perl": "9.2.1",
    "lxc-pve": "6.0.5-1",
    "pve-cluster": "9.1.6",
    "pve-container": "6.1.10",
}
