//! What is there before and after. Needs root.

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

/// Whether there is anything of that prefix.
fn is_clean(config: &Config) -> bool {
    ["core", "ue1", "ue2"].iter().all(|end| !namespace(config, end).exists() && !record(config, end).exists())
}

/// Set where this program is to open interfaces and die of it.
const DIE_WITH: &str = "FERRIC_LIVE_TEST_PREFIX";

/// Has another process open the interfaces and die without a chance to remove anything.
fn crash(config: &Config) {
    let test = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "the_process_that_dies"])
        .env(DIE_WITH, &config.prefix)
        .output()
        .unwrap();
    assert!(!test.status.success());
    for end in ["core", "ue1", "ue2"] {
        assert!(namespace(config, end).exists() && record(config, end).exists(), "{end}");
    }
}

#[test]
fn the_process_that_dies() {
    if let Ok(prefix) = std::env::var(DIE_WITH) {
        let config = Config { prefix, ..support::config('x', 2) };
        let _interfaces = Interfaces::open(&config).unwrap();
        std::process::abort();
    }
}

/// Removes a namespace that was made by hand.
struct ByHand(PathBuf);

impl ByHand {
    /// The host's own namespace, under another name.
    fn mount(path: PathBuf) -> ByHand {
        fs::write(&path, "").unwrap();
        mount_bind("/proc/self/ns/net", &path).unwrap();
        ByHand(path)
    }

    fn is_there(&self) -> bool {
        fs::metadata(&self.0).unwrap().len() == 0 && fs::File::open(&self.0).is_ok()
    }
}

impl Drop for ByHand {
    fn drop(&mut self) {
        let _ = unmount(&self.0, UnmountFlags::DETACH);
        let _ = fs::remove_file(&self.0);
    }
}

#[test]
fn nothing_stays_when_the_interfaces_go() {
    let Some(_turn) = support::turn() else { return };
    let config = support::config('n', 2);
    let interfaces = Interfaces::open(&config).unwrap();
    assert_eq!(interfaces.namespaces.ues[1].name(), format!("{}-ue2", config.prefix));
    assert!(["core", "ue1", "ue2"].iter().all(|end| namespace(&config, end).exists()));
    drop(interfaces);
    assert!(is_clean(&config));
}

#[test]
fn what_a_process_that_died_left_is_removed_by_the_next_one() {
    let Some(_turn) = support::turn() else { return };
    let config = support::config('c', 2);
    crash(&config);
    // whatever that one's names are
    drop(Interfaces::open(&support::config('d', 1)).unwrap());
    assert!(is_clean(&config));
    crash(&config);
    drop(Interfaces::open(&config).unwrap());
    assert!(is_clean(&config));
}

#[test]
fn a_namespace_of_somebody_else_that_has_a_leftover_s_name_is_left_alone() {
    let Some(_turn) = support::turn() else { return };
    let config = support::config('f', 2);
    crash(&config);
    let path = namespace(&config, "ue2");
    unmount(&path, UnmountFlags::DETACH).unwrap();
    let theirs = ByHand::mount(path);
    let result = Interfaces::open(&config);
    assert!(
        matches!(&result, Err(Error::NamespaceTaken { name, owner: Owner::Foreign })
            if *name == format!("{}-ue2", config.prefix)),
        "{:?}",
        result.err()
    );
    assert!(theirs.is_there());
    drop(theirs);
    // and what was made before that was found is removed
    assert!(is_clean(&config));
}

#[test]
fn a_running_one_keeps_its_namespaces() {
    let Some(_turn) = support::turn() else { return };
    let config = support::config('k', 1);
    let interfaces = Interfaces::open(&config).unwrap();
    let second = Interfaces::open(&config);
    assert!(matches!(&second, Err(Error::NamespaceTaken { owner: Owner::Running, .. })), "{:?}", second.err());
    assert!(namespace(&config, "core").exists() && namespace(&config, "ue1").exists());
    assert!(interfaces.namespaces.ues[0].enter(|| ()).is_ok());
}

#[test]
fn one_that_was_deleted_by_hand_is_no_trouble() {
    let Some(_turn) = support::turn() else { return };
    let config = support::config('h', 1);
    let interfaces = Interfaces::open(&config).unwrap();
    let path = namespace(&config, "ue1");
    unmount(&path, UnmountFlags::DETACH).unwrap();
    fs::remove_file(&path).unwrap();
    let theirs = ByHand::mount(path);
    drop(interfaces);
    assert!(theirs.is_there(), "it has the name, and is not ours");
    drop(theirs);
    assert!(is_clean(&config));
}

#[test]
fn without_rights_the_error_says_what_is_needed() {
    let Some(_turn) = support::turn() else { return };
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
fn the_host_s_routes_are_not_taken_over() {
    let Some(_turn) = support::turn() else { return };
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
