//! The topics of the stream of events.

/// A topic of the stream of events: what a reader can choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topic {
    /// Nodes that set up, change or are lost; base stations that are complete or incomplete.
    Nodes,
    /// UEs that attach, move and detach.
    Ues,
    /// Controls that have ended.
    Controls,
    /// Lines of the log.
    Log,
}

impl Topic {
    /// All topics.
    pub const ALL: [Topic; 4] = [Topic::Nodes, Topic::Ues, Topic::Controls, Topic::Log];

    /// Its name in a request.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Topic::Nodes => "nodes",
            Topic::Ues => "ues",
            Topic::Controls => "controls",
            Topic::Log => "log",
        }
    }

    /// Its bit in a set of topics.
    #[must_use]
    pub fn bit(self) -> u32 {
        1 << self as u32
    }
}
