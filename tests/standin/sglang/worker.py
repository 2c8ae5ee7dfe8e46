"""A worker of the stand-in: logs its arguments, as SGLang's do, and does nothing more."""

import argparse
import logging
import multiprocessing
import time


def work(args: argparse.Namespace) -> None:
    logging.basicConfig(level=logging.INFO, format="[%(asctime)s TP0] %(message)s")
    logging.info("server_args=%s", args)
    parent = multiprocessing.parent_process()
    # SGLang's workers die with their parent too (PDEATHSIG).
    while parent and parent.is_alive():
        time.sleep(0.2)
