"""What runs inside the container: copied or sent there, importing nothing of ours."""
