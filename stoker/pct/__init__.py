"""Commands in a container through its Proxmox node: free of pyinfra, shared with testinfra."""
