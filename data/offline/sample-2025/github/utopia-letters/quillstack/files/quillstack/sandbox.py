import subprocess
import sys


def passes(program, test, entry, timeout=5):
    code = f"{program}\n{test}\ncheck({entry})\n"
    try:
        return subprocess.run([sys.executable, "-I", "-c", code], timeout=timeout, capture_output=True).returncode == 0
    except subprocess.TimeoutExpired:
        return False
