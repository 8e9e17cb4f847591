"""Ctrl-C in a chat on a terminal ends a reply and nothing else; at the prompt it ends the program.

    interrupt_chat.py DSFLASH_RUN MODEL
"""

import os
import pty
import select
import signal
import sys
import threading
import time

RUN = [*sys.argv[1:], "--chat", "--no-think", "--ignore-eos", "-n", "60000"]
PROMPT, CTRL_C, CTRL_D = b"> ", b"\x03", b"\x04"
SECONDS = 60


class Terminal:
    def __init__(self, command):
        self.child, self.file = pty.fork()
        if self.child == 0:
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # a shell's background job ignores it
            os.execvp(command[0], command)

    def read(self, isEnough):
        """What the program writes until `isEnough` of it."""
        text, end = b"", time.monotonic() + SECONDS
        while not isEnough(text):
            if not select.select([self.file], [], [], end - time.monotonic())[0]:
                sys.exit(f"nothing came behind {text[-200:]}")
            text += os.read(self.file, 4096)
        return text

    def write(self, text):
        os.write(self.file, text)

    def end(self):
        """Exit code, or the negative signal; that of an alarm if the program goes on."""
        alarm = threading.Timer(SECONDS, os.kill, (self.child, signal.SIGALRM))
        alarm.start()
        try:
            while os.read(self.file, 4096):
                pass
        except OSError:
            pass  # the other side is closed
        code = os.waitstatus_to_exitcode(os.waitpid(self.child, 0)[1])
        alarm.cancel()
        return code


def reply(chat, question):
    """Asks, and interrupts the endless reply."""
    chat.write(question + b"\n")
    echo = chat.read(lambda text: len(text) > len(question) + 20)
    chat.write(CTRL_C)
    return echo + chat.read(lambda text: text.endswith(b"\n" + PROMPT))


for last, expected in (CTRL_C, -signal.SIGINT), (CTRL_D, 0):
    chat = Terminal(RUN)
    chat.read(lambda text: text.endswith(PROMPT))
    for question in b"Who was Moses?", b"And Aaron?":
        if question not in reply(chat, question):
            sys.exit("the terminal does not show what is typed")
    chat.write(b"/system You are a king.\n")
    chat.read(lambda text: text.endswith(b"\n" + PROMPT))
    chat.write(last)
    if (code := chat.end()) != expected:
        sys.exit(f"ended with {code}, {expected} expected")
