"""The host link: how a host reaches a GPU on a board through a serial line."""
