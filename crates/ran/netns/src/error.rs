//! Errors, by responsibility: misuse by the caller, or the environment.

use std::fmt;
use std::io;
use std::net::Ipv4Addr;

use rustix::io::Errno;

/// The owner of a namespace whose name is requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// A running process of ferric.
    Running,
    /// Not ferric.
    Foreign,
}

/// The reason why the interfaces cannot be created, or have failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// Misuse: a name prefix that is empty, longer than 10 octets, or has characters other than a-z, 0-9 and '-'.
    Prefix,
    /// Misuse: an MTU out of range 576 to 9000.
    Mtu,
    /// Misuse: no UE, or more than [`Config::MAX_UES`](crate::Config::MAX_UES).
    Ues,
    /// Misuse: a subnet prefix length out of range 8 to 30.
    Subnet,
    /// Misuse: an address that is not a host address of the subnet, or is used twice.
    Address(Ipv4Addr),
    /// Environment: the process lacks a permission.
    NotRoot {
        /// The operation that failed.
        operation: &'static str,
    },
    /// Environment: `/dev/net/tun` does not exist.
    NoTun,
    /// Environment: this kernel is older than Linux 5.14.
    OldKernel,
    /// Environment: a namespace of that name exists.
    NamespaceTaken {
        /// Its name.
        name: String,
        /// Its owner.
        owner: Owner,
    },
    /// Environment: a device of that name exists.
    DeviceTaken {
        /// Its name.
        name: String,
    },
    /// Environment: the host has a route into the UEs' subnet.
    SubnetTaken {
        /// The device of that route.
        device: String,
    },
    /// Environment: the device of a port was removed.
    Gone,
    /// Environment: a system call failed for another reason.
    Io {
        /// The operation that failed.
        operation: &'static str,
        /// The cause.
        source: io::Error,
    },
}

impl Error {
    /// Classifies a failed system call.
    pub(crate) fn of(operation: &'static str) -> impl Fn(Errno) -> Error {
        move |errno| match errno {
            Errno::PERM | Errno::ACCESS | Errno::ROFS => Error::NotRoot { operation },
            _ => Error::Io { operation, source: errno.into() },
        }
    }

    /// Classifies a failed call of the standard library.
    pub(crate) fn of_io(operation: &'static str) -> impl Fn(io::Error) -> Error {
        move |source| match Errno::from_io_error(&source) {
            Some(errno) => Error::of(operation)(errno),
            None => Error::Io { operation, source },
        }
    }
}

impl Error {
    /// Advice for the user, where there is any.
    #[must_use]
    pub fn remedy(&self) -> Option<&'static str> {
        Some(match self {
            Error::NotRoot { .. } => {
                "run as root; in a container with the capabilities NET_ADMIN and SYS_ADMIN (docker run --cap-add \
                 NET_ADMIN --cap-add SYS_ADMIN --device /dev/net/tun)"
            }
            Error::NoTun => {
                "run `modprobe tun` as root; in a container add the device (docker run --device /dev/net/tun)"
            }
            Error::OldKernel => "use a newer kernel",
            Error::NamespaceTaken { owner: Owner::Running, .. } => "end that process, or use another name prefix",
            Error::NamespaceTaken { owner: Owner::Foreign, .. } => {
                "use another name prefix, or remove the namespace with `ip netns delete`"
            }
            Error::DeviceTaken { .. } => "use another name prefix, or remove the device with `ip link delete`",
            Error::SubnetTaken { .. } => "run the core in a namespace, or use another subnet",
            Error::Gone => "restart, and do not remove the devices of ferric",
            _ => return None,
        })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Prefix => f.write_str("invalid name prefix: use 1 to 10 characters of a-z, 0-9 and '-'"),
            Error::Mtu => f.write_str("MTU is out of range 576 to 9000 octets"),
            Error::Ues => write!(f, "number of UEs is out of range 1 to {}", crate::Config::MAX_UES),
            Error::Subnet => f.write_str("subnet prefix length is out of range 8 to 30"),
            Error::Address(address) => {
                write!(f, "{address} is not a host address of the UEs' subnet, or is used twice")
            }
            Error::NotRoot { operation } => write!(f, "no permission to {operation}"),
            Error::NoTun => f.write_str("/dev/net/tun does not exist"),
            Error::OldKernel => f.write_str("this kernel is older than Linux 5.14"),
            Error::NamespaceTaken { name, owner: Owner::Running } => {
                write!(f, "network namespace {name} belongs to another running ferric")
            }
            Error::NamespaceTaken { name, owner: Owner::Foreign } => {
                write!(f, "network namespace {name} exists and does not belong to ferric")
            }
            Error::DeviceTaken { name } => write!(f, "network device {name} exists"),
            Error::SubnetTaken { device } => {
                write!(f, "this host has a route into the UEs' subnet over {device}")
            }
            Error::Gone => f.write_str("the device of a UE or of the core was removed"),
            Error::Io { operation, source } => write!(f, "cannot {operation}: {source}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}
