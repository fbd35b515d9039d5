"""The exceptions of the API. Each has the attributes of `Error`; docs/xapp-api.md lists the codes."""

from __future__ import annotations


class Error(Exception):
    """A verb of the API failed.

    code: the name of the error in all languages, such as ``refused``.
    cause: the E2AP cause, if a node refused.
    parameter: the parameter at fault, if one is.
    nearest: the known names that are nearest to one that is unknown or not offered.
    node: the node that it is about, if it is about one.
    """

    def __init__(
        self,
        text: str = "",
        *,
        code: str = "error",
        cause: str | None = None,
        parameter: str | None = None,
        nearest: list[str] | None = None,
        node: str | None = None,
    ) -> None:
        super().__init__(text)
        self.code = code
        self.cause = cause
        self.parameter = parameter
        self.nearest = nearest or []
        self.node = node


class AddressError(Error, ValueError):
    """The RIC's address cannot be read."""


class ConnectError(Error, ConnectionError):
    """There is no session: nothing listens in time, or the RIC refused it."""


class Timeout(Error, TimeoutError):
    """The deadline has passed."""


class Closed(Error):
    """The session or the stream was closed, or has ended with an error before."""


class Forked(Error):
    """This process is a child of the one that opened the session."""


class Unknown(Error, LookupError):
    """There is no such node, cell, UE or slice; `nearest` has the nearest known names."""


class NotOffered(Error):
    """A node, or each of them, does not offer it; `nearest` has what it offers."""


class Invalid(Error, ValueError):
    """An argument is outside of its range; `parameter` names it."""


class Refused(Error):
    """The node refused; `cause` is its E2AP cause."""


class RefusedByRic(Error, PermissionError):
    """The RIC refused, and sent nothing to the node."""


class NodeLost(Error, ConnectionError):
    """The node, or the RIC, was lost before it answered."""


class Malformed(Error):
    """The node does not answer as its service model specifies."""


class Unverified(Error):
    """The node acknowledged the control, and no report shows its effect."""
