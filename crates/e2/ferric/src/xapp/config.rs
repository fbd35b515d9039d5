//! The configuration of an xApp.

use std::time::Duration;

use e2ap::Codec;

/// The configuration of an xApp's session.
#[derive(Clone, Debug)]
pub struct XappConfig {
    /// The time within which the RIC must send its welcome. Default: 5 s.
    pub connect_timeout: Duration,
    /// The configuration of the link. Default: PDUs of up to 16 KiB above E2's 1 MiB, as a RIC sends them by default.
    pub link: link::Config,
    /// The delays before reconnecting when the RIC is lost. [`Xapp::poll`](super::Xapp::poll) then reports
    /// [`XappEvent::Disconnected`](super::XappEvent::Disconnected), reconnects, and resumes the subscriptions. `None`:
    /// `poll` fails instead. Default: 1 s at first, at most 30 s. [`Xapp::connect`](super::Xapp::connect) does not
    /// retry in either case.
    pub reconnect: Option<Reconnect>,
    /// Encodings that nodes may use in addition to the built-in ones. Default: none.
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

/// The delays before an xApp reconnects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reconnect {
    /// The first delay; it doubles with each failure. Default: 1 s.
    pub first: Duration,
    /// The longest delay. Default: 30 s.
    pub last: Duration,
}

impl Default for Reconnect {
    fn default() -> Self {
        Reconnect { first: Duration::from_secs(1), last: Duration::from_secs(30) }
    }
}
