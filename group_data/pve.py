"""What holds for every Proxmox node."""

ssh_user = "root"
