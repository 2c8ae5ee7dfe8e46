"""What runs on the Proxmox node: Python 3.9's standard library, sent over ssh, never on disk."""
