"""A relay before a container engine that passes on what a program writes only after the program has ended, as an engine does on a busy machine."""

import select
import socket
import socketserver
from typing import ClassVar

HELD = 0.6
"""Seconds for which the output of a program is held back."""


class _Relay(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        server = self.server
        assert isinstance(server, SlowEngine)
        with socket.socket(socket.AF_UNIX) as engine:
            engine.connect(server.engine)
            slow, waiting = False, True
            while True:
                ready = select.select([self.request, engine], [], [])[0]
                for source, target in ((self.request, engine), (engine, self.request)):
                    if source not in ready:
                        continue
                    data = source.recv(1 << 16)
                    if not data:
                        return
                    slow = slow or (b"/exec/" in data and b"/start" in data.partition(b"\r\n")[0])
                    if slow and source is engine and waiting:
                        head, end, rest = data.partition(b"\r\n\r\n")
                        target.sendall(head + end)
                        select.select([], [], [], HELD)
                        data, waiting = rest, False
                    target.sendall(data)


class SlowEngine(socketserver.ThreadingUnixStreamServer):
    """`engine`: the socket of the real one; `place`: where this one listens."""

    daemon_threads: ClassVar[bool] = True

    def __init__(self, engine: str, place: str) -> None:
        self.engine = engine
        super().__init__(place, _Relay)
