"""What only a machine with an NVIDIA GPU can show; see conftest.py for what is said elsewhere."""
