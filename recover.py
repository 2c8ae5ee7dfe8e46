"""Clears stuck GPUs from the Proxmox host and brings the same servers back to a token.

pyinfra --dry inventory/lab.py recover.py     # what is stuck, and what would be done
pyinfra inventory/lab.py recover.py
"""

from roles.recovery import recovery

recovery()
