"""What runs on a Proxmox host: looks at its GPUs and containers, and climbs the ladder.

Standard library only, Python 3.9 and later. Decisions are `stoker.health`'s; here they are carried
out. Both are sent as one file, see `bundle`.
"""
