"""Stoker keeps SGLang fired up on Proxmox LXC GPU hosts."""
