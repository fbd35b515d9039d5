//! What was found: what, why, and what to do.

use std::fmt::Display;

/// Tells findings as they come, and counts the faults.
#[derive(Default)]
pub struct Findings {
    faults: usize,
}

impl Findings {
    /// Something that is as it should be.
    pub fn good(&self, what: impl Display) {
        program::outln!("ok     {what}");
    }

    /// Something to know, which need not be wrong.
    pub fn note(&self, what: impl Display, why: impl Display, remedy: impl Display) {
        tell("note ", what, why, remedy);
    }

    /// Something that keeps a node from coming up.
    pub fn fault(&mut self, what: impl Display, why: impl Display, remedy: impl Display) {
        self.faults += 1;
        tell("FAULT", what, why, remedy);
    }

    pub fn faults(&self) -> usize {
        self.faults
    }
}

fn tell(mood: &str, what: impl Display, why: impl Display, remedy: impl Display) {
    program::outln!("{mood}  {what}");
    program::outln!("       why: {why}");
    program::outln!("       do:  {remedy}");
}
