//! xApps in containers: an engine that has the command line of podman or docker runs them in the foreground, so that their output, signals
//! and end are those of a process.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::cgroup::Limits;

/// Engines, the first of which is used if the file of commands names none.
const ENGINES: [&str; 2] = ["/usr/bin/podman", "/usr/bin/docker"];

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
    /// Of an xApp, by the engine of the file of commands or one that is found.
    ///
    /// # Errors
    /// If there is no engine.
    pub fn new(engine: &[String], image: &str, xapp: &str) -> Result<Container, String> {
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
        Ok(Container { engine, image: image.to_owned(), name: format!("ferric-xapp-{xapp}") })
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

    /// Removes what a RIC that was killed has left under this name.
    pub fn remove_former(&self) {
        self.kill();
        self.engine_does(&["rm", "-f", &self.name]);
    }

    fn engine_does(&self, arguments: &[&str]) -> bool {
        let [program, first @ ..] = &self.engine[..] else { return false };
        let mut command = Command::new(program);
        command.args(first).args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    }

    /// The line of a shell that kills and removes the container.
    pub fn shell_line(&self) -> String {
        let quoted = |word: &String| format!("'{}'", word.replace('\'', r"'\''"));
        let engine = self.engine.iter().map(quoted).collect::<Vec<_>>().join(" ");
        format!("{engine} kill {0}; {engine} rm -f {0}", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_environment_and_command_are_those_of_the_engine() {
        let engine = ["/opt/it's/podman".to_owned(), "--runtime".to_owned(), "runc".to_owned()];
        let container = Container::new(&engine, "localhost/kpm:1", "kpm").unwrap();
        let limits = Limits { memory_mib: Some(64), cpu_percent: Some(150), processes: Some(7) };
        let environment = [("A".to_owned(), "b c".to_owned())];
        let words = container.run(&["/x".to_owned()], &environment, Path::new("/run/kpm"), None, &limits);
        let expected = "/opt/it's/podman --runtime runc run --rm --name ferric-xapp-kpm --network host --volume /run/kpm:/run/kpm:ro \
                        --memory 64m --memory-swap 64m --cpus 1.50 --pids-limit 7 --env A=b c localhost/kpm:1 /x";
        assert_eq!(words.join(" "), expected);
        let kill = r"'/opt/it'\''s/podman' '--runtime' 'runc' kill ferric-xapp-kpm; ";
        assert!(container.shell_line().starts_with(kill), "{}", container.shell_line());
    }
}
