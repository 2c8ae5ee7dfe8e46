"""What operations run on a node, with its own python3 (3.9 and later) and nothing else."""
