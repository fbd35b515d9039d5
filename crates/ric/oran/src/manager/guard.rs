//! A shell that ends the process groups of xApps if the RIC is killed: no system call that Rust offers without `unsafe` ties the life
//! of a process to that of its parent.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use tracing::warn;

/// Reads which groups there are; at the end of its input, which is that of the RIC, it kills those that are left.
const SCRIPT: &str = "trap '' HUP INT TERM
groups=
containers=
while read -r word group; do
    if [ \"$word\" = container ]; then
        case \"$containers\" in *\"[$group]\"*) ;; *) containers=\"$containers
[$group]\" ;; esac
        continue
    fi
    others=
    for other in $groups; do
        [ \"$other\" = \"$group\" ] || others=\"$others $other\"
    done
    groups=$others
    [ \"$word\" = add ] && groups=\"$groups $group\"
done
exec 2>/dev/null
printf '%s\\n' \"$containers\" | while read -r line; do
    line=${line#[}
    eval \"${line%]}\"
done
for group in $groups; do kill -KILL \"-$group\"; done";

/// The shell; without one, processes outlive a RIC that is killed.
pub(super) struct Guard(Option<Child>);

impl Guard {
    pub fn start() -> Self {
        let shell = Command::new("/bin/sh")
            .args(["-c", SCRIPT, "ferric-xapp-guard"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn();
        if let Err(error) = &shell {
            warn!(
                "xApps that the RIC has started would outlive it if it is killed: /bin/sh cannot be started: {error}; make it available, \
                 and restart the RIC"
            );
        }
        Guard(shell.ok())
    }

    /// No shell, as there are no processes.
    pub fn none() -> Self {
        Guard(None)
    }

    /// Has a group killed with the RIC.
    pub fn add(&mut self, group: u32) {
        self.tell("add", group);
    }

    /// Has a line of the shell done that ends a container.
    pub fn add_container(&mut self, line: &str) {
        self.write(&format!("container {line}"));
    }

    /// A group has ended.
    pub fn remove(&mut self, group: u32) {
        self.tell("remove", group);
    }

    fn tell(&mut self, word: &str, group: u32) {
        self.write(&format!("{word} {group}"));
    }

    fn write(&mut self, line: &str) {
        let Some(stdin) = self.0.as_mut().and_then(|shell| shell.stdin.as_mut()) else { return };
        if let Err(error) = writeln!(stdin, "{line}") {
            warn!(
                "xApps that the RIC has started would outlive it if it is killed: the shell that waits for that has ended: {error}; \
                 restart the RIC"
            );
            self.end();
        }
    }

    fn end(&mut self) {
        if let Some(mut shell) = self.0.take() {
            drop(shell.stdin.take());
            // it ends at the end of its input
            let _ = shell.wait();
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.end();
    }
}
