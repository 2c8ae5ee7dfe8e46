"""A Proxmox-like node with real LXC containers on this machine, for the demo and the tests.

Nothing of the product imports it. Everything in it that plays a part it is not (a GPU, a driver,
`pct`) is called a stand-in where it is defined.
"""
