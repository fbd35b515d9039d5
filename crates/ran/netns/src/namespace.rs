//! Network namespaces as `ip netns` has them: each is mounted at a file of its name, and lives as long as that.

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

/// A network namespace that is ours. It is removed when this is dropped; programs that still run in it stay there, without
/// a network.
pub struct Namespace {
    name: String,
    file: File,
    record: Record,
}

impl Namespace {
    /// Makes one in which nothing is up.
    pub(crate) fn make(registry: &Registry, name: &str) -> Result<Namespace, Error> {
        share_directory()?;
        on_thread(|| {
            leave_network().map_err(Error::of("make a network namespace"))?;
            let identity = Identity::new(cookie()?)?;
            let record = registry.claim(name, &identity)?;
            let result = mount_here(name);
            if result.is_err() {
                record.remove();
            }
            Ok(Namespace { name: name.to_owned(), file: result?, record })
        })?
    }

    /// Its name, as `ip netns list` tells it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Calls a function on a thread that is in this namespace: sockets that it makes, threads and programs that it starts
    /// are there, and stay there.
    ///
    /// # Errors
    /// Where the system gives no thread, or does not let it in.
    ///
    /// # Panics
    /// When the function does.
    pub fn enter<T: Send>(&self, function: impl FnOnce() -> T + Send) -> Result<T, Error> {
        enter(&self.file, function)
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        // Without the lock as well: better a namespace removed while another program looks than one left behind.
        let _registry = Registry::lock();
        if is_same(&self.file, &path(&self.name)) {
            tell_of_programs(&self.file, &self.name);
            remove(&self.name);
        }
        self.record.remove();
    }
}

/// Removes a namespace that a program has left behind, where it still is that one.
pub(crate) fn remove_leftover(name: &str, identity: &Identity) {
    let Ok(file) = File::open(path(name)) else { return };
    // What died between making the file and mounting leaves an ordinary, empty file.
    let is_unmounted = file.metadata().is_ok_and(|data| data.dev() == device_of_directory() && data.len() == 0);
    let is_that =
        || enter(&file, || cookie().and_then(Identity::new)).is_ok_and(|found| found.is_ok_and(|it| it == *identity));
    if is_unmounted || is_that() {
        if !is_unmounted {
            tell_of_programs(&file, name);
        }
        drop(file);
        remove(name);
    }
}

/// A namespace is about to go: who is still in it keeps it, without a name and without a network.
fn tell_of_programs(file: &File, name: &str) {
    let programs = Processes::of(file);
    if !programs.is_empty() {
        warn!(
            "programs still run in the network namespace {name}, which goes, and have no network any more: {programs}"
        );
    }
}

fn device_of_directory() -> u64 {
    fs::metadata(DIRECTORY).map_or(0, |data| data.dev())
}

/// As `ip netns` does: mounts below the directory are everybody's, those of programs that it started as well.
fn share_directory() -> Result<(), Error> {
    let operation = "prepare /var/run/netns";
    fs::create_dir_all(DIRECTORY).map_err(Error::of_io(operation))?;
    let flags = MountPropagationFlags::SHARED | MountPropagationFlags::REC;
    match mount_change(DIRECTORY, flags) {
        // it is no mount yet
        Err(Errno::INVAL) => {
            mount_bind_recursive(DIRECTORY, DIRECTORY).map_err(Error::of(operation))?;
            mount_change(DIRECTORY, flags).map_err(Error::of(operation))
        }
        result => result.map_err(Error::of(operation)),
    }
}

/// Gives the namespace of this thread a name.
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
    // what is not mounted is removed all the same
    let _ = unmount(&path, UnmountFlags::DETACH);
    let _ = fs::remove_file(&path);
}

/// Whether the namespace of a file is mounted there: while the file is open, no other one has its number.
fn is_same(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::metadata(path)) {
        (Ok(ours), Ok(there)) => (ours.dev(), ours.ino()) == (there.dev(), there.ino()),
        _ => false,
    }
}

/// Puts this thread into a network namespace of its own.
#[allow(unsafe_code)]
fn leave_network() -> Result<(), Errno> {
    // SAFETY: what is dangerous about unsharing is a table of file descriptors; this is about the network alone, and
    // sockets stay where they were made.
    unsafe { unshare_unsafe(UnshareFlags::NEWNET) }
}

/// The number of this thread's network namespace.
pub(crate) fn cookie() -> Result<u64, Error> {
    let operation = "ask for a network namespace's number";
    let socket = socket(AddressFamily::INET, SocketType::DGRAM, None).map_err(Error::of(operation))?;
    netns_cookie(&socket).map_err(|errno| match errno {
        Errno::NOPROTOOPT => Error::OldKernel,
        errno => Error::of(operation)(errno),
    })
}

#[allow(unsafe_code)]
fn netns_cookie(socket: &impl AsFd) -> Result<u64, Errno> {
    /// Of `asm-generic/socket.h`; the C library does not name it everywhere yet.
    const SO_NETNS_COOKIE: libc::c_int = 71;
    let mut cookie = 0_u64;
    let mut octets = size_of::<u64>() as libc::socklen_t;
    // SAFETY: the descriptor is open as long as `socket` is borrowed; the kernel writes at most `octets` octets to
    // `cookie`, which has as many, and their number to `octets`; any octets are a number.
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

/// A thread's namespace is its own business: what is done there never touches ours.
fn on_thread<T: Send>(function: impl FnOnce() -> T + Send) -> Result<T, Error> {
    thread::scope(|scope| {
        let thread = thread::Builder::new().spawn_scoped(scope, function).map_err(Error::of_io("start a thread"))?;
        Ok(thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}
