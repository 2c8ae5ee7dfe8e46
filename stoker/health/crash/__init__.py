"""Why a server died: its log read as structure, and joined with what systemd and the node know."""
