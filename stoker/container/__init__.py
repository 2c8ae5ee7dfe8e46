"""Pure: what a container should be, what it is, the difference, and what each part of it needs.

Nothing here asks anybody anything. `wanted` is what the inventory says, `configuration` what
Proxmox has, `difference` what is to be done, `devices` the GPUs' nodes that are passed.
"""
