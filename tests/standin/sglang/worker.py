"""A worker of the stand-in: logs its arguments, as SGLang's do, and does nothing more."""

import argparse
import logging
import time


def work(args: argparse.Namespace) -> None:
    logging.basicConfig(level=logging.INFO, format="[%(asctime)s TP0] %(message)s")
    logging.info("server_args=%s", args)
    time.sleep(10**6)
