"""What is put into a container before its first start, as an operator would by hand."""

from stoker.sandbox.state import Container, State


def placed(state: State, container: Container) -> None:
    """Nothing yet."""
