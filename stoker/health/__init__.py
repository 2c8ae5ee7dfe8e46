"""What went wrong on a node and what to do: pure, standard library only, Python 3.9 and later.

It runs on a Proxmox host with its bare python3 and imports nothing else of ours. Nothing here
reads a file of the node, starts a process or looks at a clock; `stoker.recovery` does.
"""
