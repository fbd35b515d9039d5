//! The side of the controller under test that faces base stations.

pub mod e2;
pub mod flexran;

/// An agent's side of a protocol between base station and controller, without sockets and clocks.
///
/// Times are nanoseconds of the run's [`Clock`](crate::clock::Clock). After each call the caller takes what is to be sent, and the events.
pub trait Agent: Send {
    /// The connection is open.
    fn open(&mut self, now_ns: u64);

    /// The connection has ended, or could not be opened.
    fn close(&mut self, now_ns: u64);

    /// A message of the controller.
    fn receive(&mut self, now_ns: u64, message: &[u8]);

    /// The time at which [`Agent::expire`] must be called.
    fn timeout_ns(&self) -> Option<u64>;

    /// A time limit may have passed.
    fn expire(&mut self, now_ns: u64);

    /// Appends the next message to send. Returns whether there was one.
    fn poll_transmit(&mut self, out: &mut Vec<u8>) -> bool;

    /// The next event.
    fn poll_event(&mut self) -> Option<AgentEvent>;

    /// Appends a report of a subscription. Returns whether the subscription is active.
    fn write_report(&mut self, report: Report, out: &mut Vec<u8>) -> bool;

    /// The agent has so many users now: what the protocol says about it is queued.
    fn set_users(&mut self, _users: u16) {}

    /// Queues a request whose answer, [`AgentEvent::Answered`], shows that the controller has read all reports before it. Returns its
    /// number; `None` if nothing is reported, too many wait for their answers, or the protocol has no such request.
    fn ask(&mut self) -> Option<u32> {
        None
    }
}

/// A report to write.
#[derive(Clone, Copy, Debug)]
pub struct Report {
    /// The subscription, as [`AgentEvent::Subscribed`] named it.
    pub slot: u16,
    /// The planned time, as E2SM-KPM has it.
    pub time_stamp: [u8; 8],
    /// The number of reports before it.
    pub number: u64,
    /// The UEs that it contains.
    pub ues: u16,
}

/// An event of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentEvent {
    /// A connection is needed.
    Connect,
    /// The controller has accepted the agent.
    Up,
    /// The connection must be closed, after what is queued.
    Close,
    /// The controller has refused the agent, which tries again.
    Refused,
    /// The controller wants reports.
    Subscribed {
        /// The subscription from now on.
        slot: u16,
        /// The period of the reports.
        period_ns: u64,
    },
    /// A subscription has ended.
    Unsubscribed {
        /// The subscription.
        slot: u16,
    },
    /// The controller has answered a request of [`Agent::ask`], and with it those before.
    Answered {
        /// Its number.
        number: u32,
    },
    /// A control was answered.
    Controlled,
    /// The controller sent something that the protocol does not allow here.
    Fault,
}

/// Makes agents of a protocol.
pub trait Southbound: Send + Sync {
    /// The name of the protocol, for the report.
    fn name(&self) -> String;

    /// The agent with a number, from 1 on.
    fn agent(&self, number: u32) -> Box<dyn Agent>;

    /// Whether agents find out what the controller has read ([`Agent::ask`]), and how often they report is up to the controller: no
    /// application is needed.
    fn confirms_reports(&self) -> bool {
        false
    }
}
