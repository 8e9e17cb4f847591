"""Cuts a file of weights short in the middle of a conversation:

    truncate_weights.py FILE DSFLASH_RUN MODEL [OPTION]...

Prints what the next turn says on standard error.
"""

import os
import subprocess
import sys

file, *command = sys.argv[1:]
chat = subprocess.Popen([*command, "--chat", "--greedy", "-n", "2", "--no-think"], stdin=subprocess.PIPE,
                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
chat.stdin.write("Who are you?\n")
chat.stdin.flush()
if not chat.stdout.readline():
    sys.exit("no reply")
os.truncate(file, os.path.getsize(file) // 2)
print(chat.communicate("And whence?\n")[1], end="")
sys.exit(chat.returncode)
