//! Namespaces and records before and after. Needs root.

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use netns::{Config, Error, Interfaces, Owner};
use rustix::mount::{UnmountFlags, mount_bind, unmount};
use rustix::thread::{CapabilitySet, capabilities, set_capabilities};

fn namespace(config: &Config, end: &str) -> PathBuf {
    Path::new("/var/run/netns").join(format!("{}-{end}", config.prefix))
}

fn record(config: &Config, end: &str) -> PathBuf {
    Path::new("/var/run/ferric/live").join(format!("{}-{end}", config.prefix))
}

/// Whether nothing of that prefix exists.
fn is_clean(config: &Config) -> bool {
    ["core", "ue1", "ue2"].iter().all(|end| !namespace(config, end).exists() && !record(config, end).exists())
}

/// Set where this process is to open interfaces and abort.
const DIE_WITH: &str = "FERRIC_LIVE_TEST_PREFIX";

/// Runs a process that opens the interfaces and aborts without removing them.
fn crash(config: &Config) {
    let test = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "aborting_process"])
        .env(DIE_WITH, &config.prefix)
        .output()
        .unwrap();
    assert!(!test.status.success());
    for end in ["core", "ue1", "ue2"] {
        assert!(namespace(config, end).exists() && record(config, end).exists(), "{end}");
    }
}

#[test]
fn aborting_process() {
    if let Ok(prefix) = std::env::var(DIE_WITH) {
        let config = Config { prefix, ..support::config('x', 2) };
        let _interfaces = Interfaces::open(&config).unwrap();
        std::process::abort();
    }
}

/// A namespace that was created manually. It is removed when this is dropped.
struct ManualNamespace(PathBuf);

impl ManualNamespace {
    /// Mounts the host's namespace under another name.
    fn mount(path: PathBuf) -> ManualNamespace {
        fs::write(&path, "").unwrap();
        mount_bind("/proc/self/ns/net", &path).unwrap();
        ManualNamespace(path)
    }

    fn exists(&self) -> bool {
        fs::metadata(&self.0).unwrap().len() == 0 && fs::File::open(&self.0).is_ok()
    }
}

impl Drop for ManualNamespace {
    fn drop(&mut self) {
        let _ = unmount(&self.0, UnmountFlags::DETACH);
        let _ = fs::remove_file(&self.0);
    }
}

#[test]
fn dropped_interfaces_leave_nothing() {
    let Some(_lock) = support::lock_host() else { return };
    let config = support::config('n', 2);
    let interfaces = Interfaces::open(&config).unwrap();
    assert_eq!(interfaces.namespaces.ues[1].name(), format!("{}-ue2", config.prefix));
    assert!(["core", "ue1", "ue2"].iter().all(|end| namespace(&config, end).exists()));
    drop(interfaces);
    assert!(is_clean(&config));
}

#[test]
fn leftovers_of_a_dead_process_are_removed() {
    let Some(_lock) = support::lock_host() else { return };
    let config = support::config('c', 2);
    crash(&config);
    // also with other names
    drop(Interfaces::open(&support::config('d', 1)).unwrap());
    assert!(is_clean(&config));
    crash(&config);
    drop(Interfaces::open(&config).unwrap());
    assert!(is_clean(&config));
}

#[test]
fn foreign_namespace_with_the_name_of_a_leftover_is_kept() {
    let Some(_lock) = support::lock_host() else { return };
    let config = support::config('f', 2);
    crash(&config);
    let path = namespace(&config, "ue2");
    unmount(&path, UnmountFlags::DETACH).unwrap();
    let foreign = ManualNamespace::mount(path);
    let result = Interfaces::open(&config);
    assert!(
        matches!(&result, Err(Error::NamespaceTaken { name, owner: Owner::Foreign })
            if *name == format!("{}-ue2", config.prefix)),
        "{:?}",
        result.err()
    );
    assert!(foreign.exists());
    drop(foreign);
    // what was created before the failure is removed
    assert!(is_clean(&config));
}

#[test]
fn running_process_keeps_its_namespaces() {
    let Some(_lock) = support::lock_host() else { return };
    let config = support::config('k', 1);
    let interfaces = Interfaces::open(&config).unwrap();
    let second = Interfaces::open(&config);
    assert!(matches!(&second, Err(Error::NamespaceTaken { owner: Owner::Running, .. })), "{:?}", second.err());
    assert!(namespace(&config, "core").exists() && namespace(&config, "ue1").exists());
    assert!(interfaces.namespaces.ues[0].enter(|| ()).is_ok());
}

#[test]
fn manually_deleted_namespace_is_tolerated() {
    let Some(_lock) = support::lock_host() else { return };
    let config = support::config('h', 1);
    let interfaces = Interfaces::open(&config).unwrap();
    let path = namespace(&config, "ue1");
    unmount(&path, UnmountFlags::DETACH).unwrap();
    fs::remove_file(&path).unwrap();
    let foreign = ManualNamespace::mount(path);
    drop(interfaces);
    assert!(foreign.exists(), "a foreign namespace of the same name");
    drop(foreign);
    assert!(is_clean(&config));
}

#[test]
fn missing_permissions_are_an_error_with_advice() {
    let Some(_lock) = support::lock_host() else { return };
    let config = support::config('u', 1);
    let error = thread::scope(|scope| {
        let unprivileged = scope.spawn(|| {
            let mut sets = capabilities(None).unwrap();
            sets.effective &= !CapabilitySet::SYS_ADMIN;
            set_capabilities(None, sets).unwrap();
            Interfaces::open(&config).err().unwrap()
        });
        unprivileged.join().unwrap()
    });
    assert!(matches!(error, Error::NotRoot { .. }));
    assert!(error.remedy().unwrap().contains("as root"));
    assert!(is_clean(&config));
}

#[test]
fn existing_routes_of_the_host_are_kept() {
    let Some(_lock) = support::lock_host() else { return };
    // the documentation's network (RFC 5737), which no host routes
    let config = |letter| Config {
        core: netns::Core::Host,
        core_address: [203, 0, 113, 1].into(),
        subnet_bits: 24,
        ues: vec![[203, 0, 113, 2].into()],
        ..support::config(letter, 0)
    };
    let interfaces = Interfaces::open(&config('o')).unwrap();
    assert!(interfaces.namespaces.core.is_none());
    let routes = fs::read_to_string("/proc/net/route").unwrap();
    let device = format!("{}0", config('o').prefix);
    assert!(routes.lines().any(|line| line.starts_with(&device)), "{routes}");
    let second = Interfaces::open(&config('q'));
    assert!(matches!(&second, Err(Error::SubnetTaken { device: there }) if *there == device));
    drop(interfaces);
    assert!(!fs::read_to_string("/proc/net/route").unwrap().contains(&device));
}
