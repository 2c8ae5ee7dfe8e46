"""A Proxmox-like node with real LXC containers on this machine; every stand-in lives here."""
