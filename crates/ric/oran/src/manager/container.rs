//! xApps in containers: an engine that has the command line of podman or docker runs them in the foreground, so that their output, signals
//! and end are those of a process.

use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use super::cgroup::Limits;

/// Engines, the first of which is used if the file of commands names none.
const ENGINES: [&str; 2] = ["/usr/bin/podman", "/usr/bin/docker"];

/// How long the engine's client may take to kill or remove a container.
const PATIENCE: Duration = Duration::from_secs(10);

/// What runs an xApp in a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Container {
    /// The program of the engine and its first arguments.
    engine: Vec<String>,
    image: String,
    /// Its name in the engine.
    name: String,
}

impl Container {
    /// Of an xApp of a RIC with an id ([`ric_id`]), by the engine of the file of commands or one that is found.
    ///
    /// # Errors
    /// If there is no engine.
    pub fn new(engine: &[String], image: &str, ric: &str, xapp: &str) -> Result<Container, String> {
        let found = || ENGINES.into_iter().find(|engine| Path::new(engine).exists()).map(str::to_owned);
        let engine = match engine {
            [] => vec![found().ok_or_else(|| {
                format!(
                    "it is an image, and there is no engine: neither {}; install one, or give its path as `engine`",
                    ENGINES.join(" nor ")
                )
            })?],
            words => words.to_vec(),
        };
        Ok(Container { engine, image: image.to_owned(), name: format!("ferric-xapp-{ric}-{xapp}") })
    }

    /// The program of the engine.
    pub fn engine(&self) -> &str {
        &self.engine[0]
    }

    /// The command that runs the container until it ends. `folder` with the configuration is at the same place in the container, which has
    /// the network of the host.
    pub fn run(
        &self,
        command: &[String],
        environment: &[(String, String)],
        folder: &Path,
        workdir: Option<&PathBuf>,
        limits: &Limits,
    ) -> Vec<String> {
        let mut words = self.engine.clone();
        let mut add = |option: &str, value: String| words.extend([option.to_owned(), value]);
        add("run", "--rm".to_owned());
        add("--name", self.name.clone());
        add("--network", "host".to_owned());
        add("--volume", format!("{0}:{0}:ro", folder.display()));
        if let Some(workdir) = workdir {
            add("--workdir", workdir.display().to_string());
        }
        if let Some(mib) = limits.memory_mib {
            add("--memory", format!("{mib}m"));
            // no swap beside it
            add("--memory-swap", format!("{mib}m"));
        }
        if let Some(percent) = limits.cpu_percent {
            add("--cpus", format!("{}.{:02}", percent / 100, percent % 100));
        }
        if let Some(processes) = limits.processes {
            add("--pids-limit", processes.to_string());
        }
        for (name, value) in environment {
            add("--env", format!("{name}={value}"));
        }
        words.push(self.image.clone());
        words.extend_from_slice(command);
        words
    }

    /// Kills the container. Returns whether there was one.
    pub fn kill(&self) -> bool {
        self.engine_does(&["kill", &self.name])
    }

    /// Kills and removes the container, if there is one: the engine's client that is killed does not remove it, and a RIC that is killed
    /// leaves it.
    pub fn remove(&self) {
        self.kill();
        self.engine_does(&["rm", "-f", &self.name]);
    }

    fn engine_does(&self, arguments: &[&str]) -> bool {
        let [program, first @ ..] = &self.engine[..] else { return false };
        let mut command = Command::new(program);
        command.args(first).args(arguments);
        succeeds_within(&mut command, PATIENCE)
    }

    /// The line of a shell that kills and removes the container.
    pub fn shell_line(&self) -> String {
        let quoted = |word: &String| format!("'{}'", word.replace('\'', r"'\''"));
        let engine = self.engine.iter().map(quoted).collect::<Vec<_>>().join(" ");
        format!("{engine} kill {0}; {engine} rm -f {0}", self.name)
    }
}

/// What distinguishes the containers of a RIC from those of others of its host, and is the same after a restart: a digest of its
/// folder and its address for RMR.
pub(super) fn ric_id(state_folder: &Path, rmr: Option<SocketAddr>) -> String {
    let folder = std::path::absolute(state_folder).unwrap_or_else(|_| state_folder.to_owned());
    let text = format!("{} {rmr:?}", folder.display());
    // FNV-1a
    let digest =
        text.bytes().fold(0x811c_9dc5_u32, |digest, octet| (digest ^ u32::from(octet)).wrapping_mul(0x0100_0193));
    format!("{digest:08x}")
}

/// Whether a command succeeds within a time. One that takes longer is killed, with its group.
fn succeeds_within(command: &mut Command, patience: Duration) -> bool {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    let Ok(mut child) = command.spawn() else { return false };
    let deadline = Instant::now() + patience;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return status.success(),
            Ok(None) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(10)),
            _ => break,
        }
    }
    // it was not waited for: its id belongs to no other group
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.wait();
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_environment_and_command_are_those_of_the_engine() {
        let engine = ["/opt/it's/podman".to_owned(), "--runtime".to_owned(), "runc".to_owned()];
        let container = Container::new(&engine, "localhost/kpm:1", "01234567", "kpm").unwrap();
        let limits = Limits { memory_mib: Some(64), cpu_percent: Some(150), processes: Some(7) };
        let environment = [("A".to_owned(), "b c".to_owned())];
        let words = container.run(&["/x".to_owned()], &environment, Path::new("/run/kpm"), None, &limits);
        let expected = "/opt/it's/podman --runtime runc run --rm --name ferric-xapp-01234567-kpm --network host --volume /run/kpm:/run/kpm:ro \
                        --memory 64m --memory-swap 64m --cpus 1.50 --pids-limit 7 --env A=b c localhost/kpm:1 /x";
        assert_eq!(words.join(" "), expected);
        let kill = r"'/opt/it'\''s/podman' '--runtime' 'runc' kill ferric-xapp-01234567-kpm; ";
        assert!(container.shell_line().starts_with(kill), "{}", container.shell_line());
    }

    #[test]
    fn rics_of_a_host_have_containers_of_their_own() {
        let (one, other) = ("127.0.0.1:4560".parse().unwrap(), "127.0.0.1:4561".parse().unwrap());
        let of = |folder: &str, rmr| ric_id(Path::new(folder), rmr);
        assert_eq!(of("/var/lib/a", Some(one)), of("/var/lib/a", Some(one)), "after a restart");
        let ids = [
            of("/var/lib/a", Some(one)),
            of("/var/lib/b", Some(one)),
            of("/var/lib/a", Some(other)),
            of("/var/lib/a", None),
        ];
        let different: std::collections::BTreeSet<_> = ids.iter().collect();
        assert_eq!(different.len(), ids.len(), "{ids:?}");
        assert!(ids.iter().all(|id| id.len() == 8 && id.bytes().all(|octet| octet.is_ascii_hexdigit())), "{ids:?}");
    }

    #[test]
    fn engine_that_does_not_answer_is_killed() {
        let begin = Instant::now();
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "sleep 1000; exit 0"]);
        assert!(!succeeds_within(&mut command, Duration::from_millis(50)));
        assert!(begin.elapsed() < Duration::from_secs(100));
        for (script, is_success) in [("exit 0", true), ("exit 1", false)] {
            let mut command = Command::new("/bin/sh");
            assert_eq!(succeeds_within(command.args(["-c", script]), PATIENCE), is_success);
        }
    }
}
