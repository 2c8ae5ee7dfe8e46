"""What holds for every Proxmox node."""

ssh_user = "root"

# A look at the GPUs every minute, written as Prometheus metrics and as JSON. Off: None, and what an
# earlier one left is removed. An empty {} is all of these defaults, and touches nothing:
#   {
#       "every_s": 60,
#       "metrics": "/var/lib/prometheus/node-exporter/stoker.prom",
#       "status": "/var/lib/stoker/status.json",
#       # Only if you want it to act by itself: how far for which container, and how often.
#       # R3: end what holds its GPUs; R4: restart the container too; R5: reset its GPUs.
#       "ladder": {"at_most_per_day": 3, "vmids": {200: {"up_to": "R3"}}},
#   }
watch = None

# What is not good for the GPUs is told in every run. Only what is named here is changed, but for
# the unit that makes the GPUs' device nodes at boot, before any guest starts (docs/driver.md):
# node_settings = {
#     "modules": True,  # NVIDIA's at boot, nouveau never
#     "persistence": True,
#     "hold": True,  # the driver's packages
#     "power_limit_w": 450,
#     "kernel_command_line": ["iommu=pt"],
# }

# How containers are changed: `pct` on the node over ssh, unless an API token or a password is given
# (docs/proxmox.md says with which rights). What only root may is done by `pct` in any case:
# proxmox = {
#     "backend": "token",
#     "host": "pve1.example.net",  # as in its certificate; any node of the cluster
#     "token": "stoker@pve!deploy",
#     "secret_env": "STOKER_PVE_SECRET",  # or secret_file
#     "ca_file": "/etc/ssl/certs/pve-root-ca.pem",
# }
