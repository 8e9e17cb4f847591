"""Interrupts the first reply of a chat: the program must go on and obey /quit.

    interrupt_chat.py DSFLASH_RUN MODEL
"""

import signal
import subprocess
import sys

run, model = sys.argv[1:]
chat = subprocess.Popen([run, model, "--chat", "--no-think", "--ignore-eos", "-n", "60000"],
                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
chat.stdin.write(b"Who was Moses?\n")
chat.stdin.flush()
if not chat.stdout.read(1):
    sys.exit("no reply")
chat.send_signal(signal.SIGINT)
chat.stdin.write(b"/quit\n")
chat.stdin.close()
chat.stdout.read()
code = chat.wait(timeout=60)
sys.exit(0 if code == 0 else f"ended with {code}")
