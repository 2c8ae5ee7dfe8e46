"""Pure: what should run. Imports neither pyinfra nor `stoker.health`."""
