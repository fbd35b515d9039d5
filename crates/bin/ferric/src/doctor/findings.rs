//! Findings: what was found, why it is so, and what to do.

use std::fmt::Display;

use anyhow::bail;

/// Prints findings as they are made, and counts the faults.
#[derive(Default)]
pub struct Findings {
    faults: usize,
}

impl Findings {
    /// Prints that something is correct.
    pub fn good(&self, what: impl Display) {
        program::outln!("ok     {what}");
    }

    /// Prints something that may be intended.
    pub fn note(&self, what: impl Display, why: impl Display, remedy: impl Display) {
        print("note ", what, why, remedy);
    }

    /// Prints something that keeps a node from connecting.
    pub fn fault(&mut self, what: impl Display, why: impl Display, remedy: impl Display) {
        self.faults += 1;
        print("FAULT", what, why, remedy);
    }

    /// The number of faults as the result of the program.
    pub fn result(&self) -> anyhow::Result<()> {
        match self.faults {
            0 => Ok(()),
            1 => bail!("1 fault found"),
            faults => bail!("{faults} faults found"),
        }
    }
}

fn print(kind: &str, what: impl Display, why: impl Display, remedy: impl Display) {
    program::outln!("{kind}  {what}");
    program::outln!("       why: {why}");
    program::outln!("       do:  {remedy}");
}
