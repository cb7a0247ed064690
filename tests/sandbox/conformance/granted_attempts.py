"""Attempts, as in `attempts.py`, of a program that was granted a network in which one host was named: to reach another place, by its proxy or past it."""

import errno
import os
import socket
from base64 import b64encode
from typing import Any
from urllib.parse import urlsplit

HERE = ("127.0.0.1", "localhost", "[::1]")


def proxied(host: str, port: int) -> None:
    """Raises `OSError` where the proxy refuses it, and another error where there is none to ask."""
    if "http_proxy" not in os.environ:  # without a sandbox
        if host not in HERE:
            raise OSError(errno.ENETUNREACH, "places outside of this machine are not tried without a sandbox")
        socket.create_connection((host.strip("[]"), port), 3).close()
        return
    proxy = urlsplit(os.environ["http_proxy"])
    password = b64encode(f"{proxy.username}:{proxy.password}".encode()).decode()
    try:
        connection = socket.create_connection((proxy.hostname or "", proxy.port or 0), 5)
    except OSError as error:
        raise RuntimeError(f"its own proxy is not there: {error}") from error
    with connection:
        connection.sendall(f"CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\nProxy-Authorization: Basic {password}\r\n\r\n".encode())
        status = connection.recv(1000).split(b"\r\n")[0].decode()
    if " 403 " in status:
        raise OSError(errno.EACCES, status)
    if " 200 " not in status:
        raise RuntimeError(status)


def reach_a_service_of_this_machine_by_the_proxy(c: dict[str, Any]) -> None:
    proxied("127.0.0.1", c["tcp"])


def reach_it_by_another_name_for_it(c: dict[str, Any]) -> None:
    proxied("localhost", c["tcp"])


def reach_it_over_ipv6_by_the_proxy(c: dict[str, Any]) -> None:
    proxied("[::1]", c["tcp6"])


def reach_it_past_the_proxy(c: dict[str, Any]) -> None:
    if "http_proxy" in os.environ and os.environ["http_proxy"].endswith(f":{c['tcp']}"):
        raise RuntimeError("the service is the proxy")
    socket.create_connection(("127.0.0.1", c["tcp"]), 3).close()


def reach_the_metadata_service(c: dict[str, Any]) -> None:
    proxied("169.254.169.254", 80)


def reach_a_host_that_was_not_named(c: dict[str, Any]) -> None:
    proxied("93.184.216.35", 443)


def reach_another_port_of_the_host_that_was_named(c: dict[str, Any]) -> None:
    proxied("93.184.216.34", 443)
