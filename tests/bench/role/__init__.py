"""The role of forty operations, for pyinfra and for Ansible, and the checks of its effect."""
