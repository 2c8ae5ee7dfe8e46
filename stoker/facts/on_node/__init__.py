"""What facts run on a node, with its own python3 (3.9 and later) or sh, and nothing else."""
