"""One container per session, through the Docker API of Docker or Podman."""
