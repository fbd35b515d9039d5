//! Why a command is refused.

use std::fmt;

use crate::glob::Exhausted;
use crate::store::Full;

/// The reason, with the code that clients of Redis know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The store has no such command.
    Unknown(String),
    /// The command has too few or too many arguments.
    Arity,
    Syntax,
    Integer,
    /// The counts of a command do not match its arguments.
    Counts,
    /// A time that is not in the future, or too far in it.
    Expiry,
    /// The key has a value of another kind.
    Kind,
    /// The client may not do this to the namespace.
    Denied(String),
    NoAuth,
    WrongToken,
    Key(usize),
    Full(Full),
    Costly,
    Cursor,
    /// The digest of a script is not known: the client loads it.
    NoScript,
    /// A script that is not one of those that are supported.
    Script,
    Database,
    Version,
    Subscribed,
    Subscriptions,
    Transaction(&'static str),
    Abort,
    /// The reply would be too long.
    Reply,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Unknown(name) => {
                write!(f, "ERR unknown command '{name}': see docs/oran-sdl.md for those of this store")
            }
            Refusal::Arity => f.write_str("ERR wrong number of arguments"),
            Refusal::Syntax => f.write_str("ERR syntax error"),
            Refusal::Integer => f.write_str("ERR value is not an integer or out of range"),
            Refusal::Counts => {
                f.write_str("ERR the counts of keys and messages are below one, or do not match the arguments")
            }
            Refusal::Expiry => f.write_str("ERR invalid expire time"),
            Refusal::Kind => f.write_str("WRONGTYPE the key has a value of another kind"),
            Refusal::Denied(what) => write!(f, "NOPERM this client may not {what}"),
            Refusal::NoAuth => f.write_str("NOAUTH authentication required: send AUTH with the token of the xApp"),
            Refusal::WrongToken => f.write_str("WRONGPASS unknown token, or not that of this xApp"),
            Refusal::Key(most) => write!(f, "ERR a key or a channel is longer than {most} octets"),
            Refusal::Full(full) => write!(f, "OOM {full}"),
            Refusal::Costly => f.write_str("ERR the pattern takes too many steps: give one with fewer `*`"),
            Refusal::Cursor => f.write_str("ERR the cursor is not valid any more: begin again with 0"),
            Refusal::NoScript => f.write_str("NOSCRIPT no script has this digest: send SCRIPT LOAD or EVAL"),
            Refusal::Script => {
                f.write_str("ERR this store runs the scripts of SDL's and redis-py's locks, and no others")
            }
            Refusal::Database => f.write_str("ERR there is one database, 0"),
            Refusal::Version => f.write_str("NOPROTO this store speaks versions 2 and 3 of the protocol"),
            Refusal::Subscribed => f.write_str(
                "ERR a connection with subscriptions takes (P)SUBSCRIBE, (P)UNSUBSCRIBE, PING, QUIT and RESET only",
            ),
            Refusal::Subscriptions => f.write_str("ERR too many subscriptions, or a pattern is too long"),
            Refusal::Transaction(what) => write!(f, "ERR {what}"),
            Refusal::Abort => f.write_str("EXECABORT a command of the transaction was refused: nothing was done"),
            Refusal::Reply => {
                f.write_str("ERR the reply is too long, or this client has read too little of the former ones")
            }
        }
    }
}

impl From<Full> for Refusal {
    fn from(full: Full) -> Self {
        Refusal::Full(full)
    }
}

impl From<Exhausted> for Refusal {
    fn from(_: Exhausted) -> Self {
        Refusal::Costly
    }
}
