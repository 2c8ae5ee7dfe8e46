"""Deploys of eight containers: whole, as before there was `container`, and the containers alone."""
