"""Why servers died, on every host of an inventory; changes nothing on any of them.

pyinfra inventory/lab.py diagnose.py     # 0: all are well, 1: one is down, or there is none
pyinfra inventory/lab.py diagnose.py --limit gpu-a
"""

from roles.diagnosis import diagnosis

diagnosis()
