//! How an xApp behaves.

use std::time::Duration;

use e2ap::Codec;

/// How an xApp behaves.
#[derive(Clone, Debug)]
pub struct XappConfig {
    /// The RIC must welcome it within this. Default: 5 s.
    pub connect_timeout: Duration,
    /// The link's bounds. Default: PDUs as long as a RIC sends by its own defaults, which is 16 KiB above E2's 1 MiB.
    pub link: link::Config,
    /// How a session outlives its RIC: where the RIC is lost, [`Xapp::poll`](super::Xapp::poll) tells so by
    /// [`XappEvent::Disconnected`](super::XappEvent::Disconnected), connects again after a pause, and asks again for
    /// what the xApp had subscribed to. None: `poll` fails then. Default: after 1 s first and 30 s at last.
    /// [`Xapp::connect`](super::Xapp::connect) fails in either case where nobody is there, or turns the xApp away.
    pub reconnect: Option<Reconnect>,
    /// Encodings that nodes may use beside those that are built in. Default: none.
    pub encodings: Vec<Codec>,
}

impl Default for XappConfig {
    fn default() -> Self {
        let e2 = link::Config::default();
        let link = link::Config { max_pdu_octets: e2.max_pdu_octets + crate::XAPP_OVERHEAD_OCTETS, ..e2 };
        XappConfig {
            connect_timeout: Duration::from_secs(5),
            link,
            reconnect: Some(Reconnect::default()),
            encodings: Vec::new(),
        }
    }
}

/// The pauses before an xApp connects again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reconnect {
    /// The first one; each next one is twice as long. Default: 1 s.
    pub first: Duration,
    /// The longest. Default: 30 s.
    pub last: Duration,
}

impl Default for Reconnect {
    fn default() -> Self {
        Reconnect { first: Duration::from_secs(1), last: Duration::from_secs(30) }
    }
}
