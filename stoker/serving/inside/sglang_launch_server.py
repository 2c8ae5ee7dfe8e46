"""SGLang's own launcher, with the API keys from the environment and kept out of the log.

Given on the command line a key is in every `ps`, and SGLang 0.5.12 and 0.5.23 both log their
whole `server_args=`, key included. So the keys are put into `sys.argv` of this process only, and
each log record loses them. SGLang starts its workers by `spawn`, which imports this file again:
so they are silenced too. Runs under the venv's Python; imports nothing of ours.
"""

import logging
import os
import runpy
import sys
from typing import Any

_KEYS = {"STOKER_API_KEY": "--api-key", "STOKER_ADMIN_API_KEY": "--admin-api-key"}
_PLAIN = [os.environ[name] for name in _KEYS if os.environ.get(name)]
# A dataclass is logged by repr, which escapes quotes and backslashes.
_SECRETS = sorted({form for key in _PLAIN for form in (key, repr(key)[1:-1])}, key=len)
_make_record = logging.getLogRecordFactory()


def _without_secrets(*args: Any, **kwargs: Any) -> logging.LogRecord:
    record = _make_record(*args, **kwargs)
    message = record.getMessage()
    for secret in reversed(_SECRETS):
        if secret in message:
            message = message.replace(secret, "***")
            record.msg, record.args = message, ()
    return record


if _SECRETS:
    logging.setLogRecordFactory(_without_secrets)

if __name__ == "__main__":
    for name, option in _KEYS.items():
        if os.environ.get(name):
            # One word with `=`: a key that begins with a dash stays a value.
            sys.argv.append(f"{option}={os.environ[name]}")
    # alter_sys stays off: this file remains `__main__`, which the spawned workers import again.
    runpy.run_module("sglang.launch_server", run_name="__main__")
