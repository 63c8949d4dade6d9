"""Loaded by every Python process of a test run (it lies on PYTHONPATH): no connection leaves this machine."""

import sys

HERE = {"localhost", "127.0.0.1", "::1", "0.0.0.0", "::", "", None}


def _refuse_the_outside(event, arguments):
    if event in ("socket.connect", "socket.sendto"):
        host = arguments[1][0] if isinstance(arguments[1], tuple) else None
    elif event in ("socket.getaddrinfo", "socket.gethostbyname"):
        host = arguments[0]
    else:
        return
    host = host.decode("ascii", "replace") if isinstance(host, bytes) else host
    if host not in HERE and not str(host).startswith("127."):
        raise ConnectionRefusedError(f"a test tried to reach {host}: tests send nothing out of this machine")


sys.addaudithook(_refuse_the_outside)
