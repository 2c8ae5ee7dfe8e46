"""What holds for every container that serves."""

# The user the servers run as. It must be able to open the GPU's device nodes (devN: ...,mode=0666).
service_user = "sglang"

# Stop an SGLang that somebody started by hand when it holds our port or GPU?
stop_foreign = False

# How many installed SGLang versions stay that no unit, no switch and no process uses any more.
# venvs_kept = 3

# What recover.py may do to a container beyond ending what holds its GPUs. All of it is off by
# itself; a container with servers and nothing else may well be restarted:
# recovery = {"allow_restart": True}
# The other keys: stop_running, allow_gpu_reset, allow_driver_reload, full, allow_stop_service, ha.

# The driver's libraries in the container are made those of the module that its node has loaded
# (docs/driver.md); others are removed, and packages held, only where that is said. These are the
# defaults; source may be a .run file or a directory of .deb packages:
# driver = {"source": None, "replace": False, "hold": False}

# What every host's `container` has unless it says otherwise (docs/container.md). A restart for what
# comes only with one is allowed here or by nobody; its servers are stopped first, and a snapshot is
# taken while it is stopped if that is said:
# container_defaults = {"allow_restart": True, "snapshot": True, "snapshots_kept": 2}
