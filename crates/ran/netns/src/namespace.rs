//! Network namespaces in the manner of `ip netns`: each is mounted at a file of its name, and exists as long as the file.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;

use rustix::io::Errno;
use rustix::mount::{MountPropagationFlags, UnmountFlags, mount_bind, mount_bind_recursive, mount_change, unmount};
use rustix::net::{AddressFamily, SocketType, socket};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};
use tracing::warn;

use crate::error::{Error, Owner};
use crate::processes::Processes;
use crate::records::{Identity, Record, Registry};

const DIRECTORY: &str = "/var/run/netns";

fn path(name: &str) -> PathBuf {
    Path::new(DIRECTORY).join(name)
}

/// A network namespace that this process has created. It is removed when this is dropped; programs that still run in it
/// continue without a network.
pub struct Namespace {
    name: String,
    file: File,
    record: Record,
}

impl Namespace {
    /// Creates a namespace, in which no device is up.
    pub(crate) fn create(registry: &Registry, name: &str) -> Result<Namespace, Error> {
        share_directory()?;
        on_thread(|| {
            unshare_network().map_err(Error::of("create a network namespace"))?;
            let identity = Identity::new(cookie()?)?;
            let record = registry.claim(name, &identity)?;
            let result = mount_here(name);
            if result.is_err() {
                record.remove();
            }
            Ok(Namespace { name: name.to_owned(), file: result?, record })
        })?
    }

    /// Its name, as in `ip netns list`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The open file of the namespace.
    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Calls a function on a thread in this namespace. Sockets that it opens, and threads and programs that it starts, belong to
    /// the namespace.
    ///
    /// # Errors
    /// Where the system refuses a thread, or the thread cannot enter the namespace.
    ///
    /// # Panics
    /// If the function panics.
    pub fn enter<T: Send>(&self, function: impl FnOnce() -> T + Send) -> Result<T, Error> {
        enter(&self.file, function)
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        // Also without the lock: a race with another process's sweep does less harm than a namespace left behind.
        let _registry = Registry::lock();
        if is_same(&self.file, &path(&self.name)) {
            warn_of_programs(&self.file, &self.name);
            remove(&self.name);
        }
        self.record.remove();
    }
}

/// Removes the namespace of a process that has died, if `name` still refers to it.
pub(crate) fn remove_leftover(name: &str, identity: &Identity) {
    let Ok(file) = File::open(path(name)) else { return };
    // A process that died between creating the file and mounting leaves an ordinary, empty file.
    let is_unmounted = file.metadata().is_ok_and(|data| data.dev() == device_of_directory() && data.len() == 0);
    let is_same_namespace =
        || enter(&file, || cookie().and_then(Identity::new)).is_ok_and(|found| found.is_ok_and(|it| it == *identity));
    if is_unmounted || is_same_namespace() {
        if !is_unmounted {
            warn_of_programs(&file, name);
        }
        drop(file);
        remove(name);
    }
}

/// Warns of programs in a namespace that is about to be removed: it continues to exist for them, without a name and without
/// devices.
fn warn_of_programs(file: &File, name: &str) {
    let programs = Processes::of(file);
    if !programs.is_empty() {
        warn!("network namespace {name} is removed while programs run in it, which lose their network: {programs}");
    }
}

fn device_of_directory() -> u64 {
    fs::metadata(DIRECTORY).map_or(0, |data| data.dev())
}

/// Makes mounts below the directory visible in all mount namespaces, as `ip netns` does.
fn share_directory() -> Result<(), Error> {
    let operation = "prepare /var/run/netns";
    fs::create_dir_all(DIRECTORY).map_err(Error::of_io(operation))?;
    let flags = MountPropagationFlags::SHARED | MountPropagationFlags::REC;
    match mount_change(DIRECTORY, flags) {
        // the directory is not a mount point yet
        Err(Errno::INVAL) => {
            mount_bind_recursive(DIRECTORY, DIRECTORY).map_err(Error::of(operation))?;
            mount_change(DIRECTORY, flags).map_err(Error::of(operation))
        }
        result => result.map_err(Error::of(operation)),
    }
}

/// Mounts the namespace of this thread under a name.
fn mount_here(name: &str) -> Result<File, Error> {
    let operation = "name a network namespace";
    let path = path(name);
    match File::options().write(true).create_new(true).mode(0o444).open(&path) {
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            return Err(Error::NamespaceTaken { name: name.to_owned(), owner: Owner::Foreign });
        }
        Err(error) => return Err(Error::of_io(operation)(error)),
    }
    let mounted = mount_bind("/proc/thread-self/ns/net", &path).map_err(Error::of(operation));
    let opened = mounted.and_then(|()| File::open(&path).map_err(Error::of_io(operation)));
    if opened.is_err() {
        remove(name);
    }
    opened
}

fn remove(name: &str) {
    let path = path(name);
    // a file that is not mounted is removed too
    let _ = unmount(&path, UnmountFlags::DETACH);
    let _ = fs::remove_file(&path);
}

/// Whether the namespace of an open file is mounted at a path: while the file is open, its inode number is not reused.
fn is_same(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::metadata(path)) {
        (Ok(open), Ok(mounted)) => (open.dev(), open.ino()) == (mounted.dev(), mounted.ino()),
        _ => false,
    }
}

/// Moves this thread into a new network namespace.
#[allow(unsafe_code)]
fn unshare_network() -> Result<(), Errno> {
    // SAFETY: unsharing is dangerous for the table of file descriptors; this call unshares the network only, and existing
    // sockets stay in their namespace.
    unsafe { unshare_unsafe(UnshareFlags::NEWNET) }
}

/// The cookie of this thread's network namespace: a number that is not reused before the next boot.
pub(crate) fn cookie() -> Result<u64, Error> {
    let operation = "read the cookie of a network namespace";
    let socket = socket(AddressFamily::INET, SocketType::DGRAM, None).map_err(Error::of(operation))?;
    netns_cookie(&socket).map_err(|errno| match errno {
        Errno::NOPROTOOPT => Error::OldKernel,
        errno => Error::of(operation)(errno),
    })
}

#[allow(unsafe_code)]
fn netns_cookie(socket: &impl AsFd) -> Result<u64, Errno> {
    /// From `asm-generic/socket.h`; not every C library defines it yet.
    const SO_NETNS_COOKIE: libc::c_int = 71;
    let mut cookie = 0_u64;
    let mut octets = size_of::<u64>() as libc::socklen_t;
    // SAFETY: the descriptor is open as long as `socket` is borrowed; the kernel writes at most `octets` octets to
    // `cookie`, which has that size, and their number to `octets`; every bit pattern is a valid u64.
    let result = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            SO_NETNS_COOKIE,
            (&raw mut cookie).cast(),
            &raw mut octets,
        )
    };
    if result == 0 {
        Ok(cookie)
    } else {
        Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO))
    }
}

fn enter<T: Send>(namespace: &File, function: impl FnOnce() -> T + Send) -> Result<T, Error> {
    on_thread(|| {
        move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))
            .map_err(Error::of("enter a network namespace"))?;
        Ok(function())
    })?
}

/// Calls a function on a new thread, whose namespace can change without effect on this one.
fn on_thread<T: Send>(function: impl FnOnce() -> T + Send) -> Result<T, Error> {
    thread::scope(|scope| {
        let thread = thread::Builder::new().spawn_scoped(scope, function).map_err(Error::of_io("start a thread"))?;
        Ok(thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}
