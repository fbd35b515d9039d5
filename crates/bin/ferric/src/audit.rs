//! `ferric audit`

use std::path::PathBuf;

use ::audit::{Verdict, verify};
use anyhow::bail;
use clap::Subcommand;

/// Verify the audit log of a RIC.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: AuditCommand,
}

#[derive(Subcommand)]
enum AuditCommand {
    /// Verify that no line was changed, removed or inserted
    ///
    /// Reads FILE, and before it FILE.1, FILE.2 and so on, as far as they are there. Prints the number of the last record and its
    /// hash: keep both elsewhere, since only they show that the end of the log, or all of it, was replaced. The exit status is 1 if
    /// a line is broken. If only the last line is torn, as after a crash, `torn=` has its number.
    Verify {
        /// The file that `ferric ric --audit` has written.
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// Hash that the log must contain, as an earlier verification has printed it.
        #[arg(long, value_name = "HASH")]
        contains: Option<String>,
    },
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let AuditCommand::Verify { file, contains } = &args.command;
    let report = verify(file, contains.as_deref())?;
    for path in &report.files {
        program::outln!("file={}", path.display());
    }
    program::outln!("records={}", report.records);
    if let (Some((first, last)), Some(hash)) = (report.range, report.last_hash) {
        program::outln!("first={first}");
        program::outln!("last={last}");
        program::outln!("hash={hash}");
    }
    if let Verdict::Broken { file, line, fault } = &report.verdict {
        bail!("{}: line {line} is broken: {fault}", file.display());
    }
    if let (Some(hash), false) = (contains, report.has_wanted) {
        bail!("no record has the hash {hash}: the end of the log, or all of it, was replaced");
    }
    if let Verdict::Torn { line, octets } = report.verdict {
        let file = file.display();
        program::outln!("torn={line}");
        tracing::warn!(
            "{file}: line {line} is torn after {octets} octets, as after a crash; all lines before are intact"
        );
    }
    Ok(())
}
