"""What Ansible needs in a container and a fresh template has not; Stoker needs nothing of it."""

from pyinfra.operations import apt

apt.update(name="Refresh the package lists", cache_time=24 * 3600)
apt.packages(name="Install Ansible's needs", packages=["python3", "python3-apt"])
