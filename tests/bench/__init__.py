"""Stoker against Ansible and against one `pct exec` a command: the same role, nothing to change."""
