//! What can go wrong, by whose fault.

use std::fmt;
use std::io;
use std::net::Ipv4Addr;

use rustix::io::Errno;

/// Who has a name that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// Another program of ferric's that runs.
    Running,
    /// Somebody who is not ferric.
    Foreign,
}

/// Why there are no interfaces.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// Misuse: a prefix of names that is empty, longer than 10 octets, or has other than a-z, 0-9 and '-'.
    Prefix,
    /// Misuse: an MTU outside of 576 to 9000.
    Mtu,
    /// Misuse: more UEs than [`Config::MAX_UES`](crate::Config::MAX_UES), or none.
    Ues,
    /// Misuse: a length of the subnet's prefix outside of 8 to 30.
    Subnet,
    /// Misuse: an address that is not a host's of the subnet, or that two have.
    Address(Ipv4Addr),
    /// Environment: the system says that it is not for us to do this.
    NotRoot {
        /// What was being done.
        operation: &'static str,
    },
    /// Environment: there is no `/dev/net/tun`.
    NoTun,
    /// Environment: this kernel is older than Linux 5.14.
    OldKernel,
    /// Environment: a namespace of that name is there.
    NamespaceTaken {
        /// Its name.
        name: String,
        /// Whose it is.
        owner: Owner,
    },
    /// Environment: a device of that name is there.
    DeviceTaken {
        /// Its name.
        name: String,
    },
    /// Environment: the host has a route into the UEs' subnet already.
    SubnetTaken {
        /// The device that it goes over.
        device: String,
    },
    /// Environment: the device of a port is gone, or was shut down for good.
    Gone,
    /// Environment: a system call failed for another reason.
    Io {
        /// What was being done.
        operation: &'static str,
        /// Why it failed.
        source: io::Error,
    },
}

impl Error {
    /// Sorts a failed system call.
    pub(crate) fn of(operation: &'static str) -> impl Fn(Errno) -> Error {
        move |errno| match errno {
            Errno::PERM | Errno::ACCESS | Errno::ROFS => Error::NotRoot { operation },
            _ => Error::Io { operation, source: errno.into() },
        }
    }

    /// The same of the standard library's.
    pub(crate) fn of_io(operation: &'static str) -> impl Fn(io::Error) -> Error {
        move |source| match Errno::from_io_error(&source) {
            Some(errno) => Error::of(operation)(errno),
            None => Error::Io { operation, source },
        }
    }
}

impl Error {
    /// What to do about it, where that is not plain.
    #[must_use]
    pub fn remedy(&self) -> Option<&'static str> {
        Some(match self {
            Error::NotRoot { .. } => {
                "run it as root; in a container with the capabilities NET_ADMIN and SYS_ADMIN (docker run --cap-add \
                 NET_ADMIN --cap-add SYS_ADMIN --device /dev/net/tun)"
            }
            Error::NoTun => {
                "as root `modprobe tun`; in a container give it the device (docker run --device /dev/net/tun)"
            }
            Error::OldKernel => "use a newer kernel",
            Error::NamespaceTaken { owner: Owner::Running, .. } => "end that one, or use another prefix of names",
            Error::NamespaceTaken { owner: Owner::Foreign, .. } => {
                "use another prefix of names; if nobody needs it, `ip netns delete` it"
            }
            Error::DeviceTaken { .. } => "use another prefix of names; if nobody needs it, `ip link delete` it",
            Error::SubnetTaken { .. } => "have the core's side in a namespace, or use another subnet",
            Error::Gone => "start anew, and leave the devices to ferric",
            _ => return None,
        })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Prefix => f.write_str("a prefix of names has 1 to 10 of a-z, 0-9 and '-'"),
            Error::Mtu => f.write_str("an MTU is 576 to 9000 octets"),
            Error::Ues => write!(f, "there are 1 to {} UEs", crate::Config::MAX_UES),
            Error::Subnet => f.write_str("the length of a subnet's prefix is 8 to 30"),
            Error::Address(address) => {
                write!(f, "{address} is not a host's address of the UEs' subnet, or two have it")
            }
            Error::NotRoot { operation } => write!(f, "this program has not the rights to {operation}"),
            Error::NoTun => f.write_str("there is no /dev/net/tun"),
            Error::OldKernel => f.write_str("this kernel is older than Linux 5.14"),
            Error::NamespaceTaken { name, owner: Owner::Running } => {
                write!(f, "another ferric that runs has the network namespace {name}")
            }
            Error::NamespaceTaken { name, owner: Owner::Foreign } => {
                write!(f, "there is a network namespace {name}, which is not ferric's")
            }
            Error::DeviceTaken { name } => write!(f, "there is a network device {name} already"),
            Error::SubnetTaken { device } => {
                write!(f, "this host has a route into the UEs' subnet already, over {device}")
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
