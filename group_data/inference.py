"""What holds for every container that serves."""

# The user the servers run as. It must be able to open the GPU's device nodes (devN: ...,mode=0666).
service_user = "sglang"

# Stop an SGLang that somebody started by hand when it holds our port or GPU?
stop_foreign = False
