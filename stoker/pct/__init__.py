"""Commands and files in LXC containers through the agent on their Proxmox node.

Standard library only, and nothing of pyinfra: the connector, the testinfra backend and the command
line all stand on this package. `stoker.pct.agent` is what runs on the node; the rest runs here.
"""
