"""Talking to Proxmox VE: its API over https, and `pct` on a node where only root may.

No pyinfra in here: whoever has a node's shell hands it in.
"""
