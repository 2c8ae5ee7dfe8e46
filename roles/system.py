"""What the distribution must provide for SGLang: a Python, a compiler, the service user."""

from pyinfra import host
from pyinfra.api import deploy

from stoker.operations import system as operations
from stoker.serving import layout

# The compilers are for the kernels that SGLang compiles at run time; it does not start without
# libnuma1. ninja comes with SGLang's wheels.
_ALWAYS = ["ca-certificates", "gcc", "g++", "libc6-dev", "libnuma1"]
PACKAGES = {
    ("debian", "12"): [*_ALWAYS, "python3.11", "python3.11-dev"],
    ("debian", "13"): [*_ALWAYS, "python3.13", "python3.13-dev"],
    ("ubuntu", "24.04"): [*_ALWAYS, "python3.12", "python3.12-dev"],
}
# Who owns the GPU's device nodes where they are not open to everyone.
GROUPS = ["video", "render"]


@deploy("System")
def system() -> None:
    account = host.data.get("service_user", "sglang")
    operations.packages(
        name="Install the interpreter and the compilers",
        by_distribution=PACKAGES,
        account=account,
    )
    operations.user(
        name="Make the service user",
        account=account,
        home=str(layout.SERVICE_HOME),
        groups=GROUPS,
    )
