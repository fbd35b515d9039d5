//! Agents of eNBs on the FlexRAN protocol.
//!
//! An agent says hello, answers hellos, echo, configuration and statistics requests, and reports statistics with the requested
//! period. It is set up when the controller answers its hello: the paper's delay. A controller that sends requests without an answer to
//! the hello has accepted it, too.
//!
//! Reports have no answers. An echo request behind a report has one, and a controller that reads its messages in order has then read
//! all reports before it: that is how the generator knows what has arrived, and when.

use std::collections::VecDeque;
use std::sync::Arc;

use flexran::{
    Body, CellConfig, CompleteStatisticsRequest, Direction, Echo, EnbConfig, Hello, Kind, LogicalChannel,
    LogicalChannels, Message, PlmnId, ReportFrequency, StatisticsRequest, UeChannels, UeConfig, UeConfigs,
    UeStateChange, UeStateChangeKind,
};

use super::{Agent, AgentEvent, Report, Southbound};
use crate::content::flexran::{FIRST_RNTI, FlexRanContent};

/// The only subscription of an agent.
const SLOT: u16 = 0;
/// Bits of the id of a macro eNB (TS 36.413 9.2.1.37): further agents have the id of a home eNB, of 28 bits.
const HOME_ENB_BITS: u32 = 28;
/// The most UEs of an agent.
const MAX_UES: u16 = 64;
/// The resource blocks of each cell: 20 MHz.
const PRBS: u32 = 100;
/// RRC, RLC, PDCP and MAC are in the eNB: the layers of [`Hello::capabilities`].
const CAPABILITIES: [u32; 9] = [0, 1, 2, 3, 4, 5, 6, 7, 8];
/// Echo requests of an agent that may wait for their answers; further ones are not sent.
const MAX_ECHOES: usize = 64;
/// The transactions of echo requests have this bit, so that they differ from those of controllers.
const ECHO_XID: u32 = 1 << 31;

/// Agents of eNBs.
pub struct FlexRan {
    content: Arc<FlexRanContent>,
    ues: u16,
}

impl FlexRan {
    /// Agents that report `content`, with `ues` UEs at their start.
    #[must_use]
    pub fn new(content: Arc<FlexRanContent>, ues: u16) -> Self {
        FlexRan { content, ues }
    }
}

impl Southbound for FlexRan {
    fn name(&self) -> String {
        "FlexRAN".to_owned()
    }

    fn agent(&self, number: u32) -> Box<dyn Agent> {
        Box::new(FlexRanAgent {
            number,
            ues: self.ues,
            content: Arc::clone(&self.content),
            is_open: false,
            is_up: false,
            next_xid: 0,
            report_xid: None,
            echoes: VecDeque::new(),
            asked: 0,
            out: VecDeque::new(),
            events: VecDeque::new(),
        })
    }

    fn confirms_reports(&self) -> bool {
        true
    }
}

struct FlexRanAgent {
    number: u32,
    /// The UEs of its configuration.
    ues: u16,
    content: Arc<FlexRanContent>,
    is_open: bool,
    is_up: bool,
    next_xid: u32,
    /// The transaction of the statistics request that is in force.
    report_xid: Option<u32>,
    /// The transactions of echo requests without an answer, with their numbers.
    echoes: VecDeque<(u32, u32)>,
    /// Echo requests until now.
    asked: u32,
    out: VecDeque<Vec<u8>>,
    events: VecDeque<AgentEvent>,
}

impl Agent for FlexRanAgent {
    fn open(&mut self, _: u64) {
        self.is_open = true;
        let hello = Hello {
            bs_id: Some(u64::from(self.number) % (1 << HOME_ENB_BITS)),
            capabilities: CAPABILITIES.to_vec(),
            splits: Vec::new(),
        };
        self.next_xid += 1;
        self.out.push_back(Message::request(self.next_xid, Body::Hello(hello)).encode());
    }

    fn close(&mut self, _: u64) {
        self.out.clear();
        self.echoes.clear();
        if std::mem::take(&mut self.is_open) && self.report_xid.take().is_some() {
            self.events.push_back(AgentEvent::Unsubscribed { slot: SLOT });
        }
        self.is_up = false;
    }

    fn receive(&mut self, _: u64, message: &[u8]) {
        let Ok(Message { direction, xid, body }) = Message::decode(message) else {
            self.events.push_back(AgentEvent::Fault);
            return;
        };
        match body {
            Body::Hello(_) if direction == Direction::Initiating => {
                let hello = Hello { bs_id: Some(self.number.into()), ..Hello::default() };
                self.reply(xid, Body::Hello(hello));
                return;
            }
            Body::Hello(_) => {}
            Body::EchoRequest(_) => return self.reply(xid, Body::EchoReply(Echo::default())),
            Body::EchoReply(_) => {
                let place = self.echoes.iter().position(|(of, _)| *of == xid);
                // an answer to what was not asked
                let Some(place) = place else { return self.events.push_back(AgentEvent::Fault) };
                let answered = self.echoes.drain(..=place).next_back();
                self.events.extend(answered.map(|(_, number)| AgentEvent::Answered { number }));
                return;
            }
            Body::EnbConfigRequest => self.reply(xid, Body::EnbConfig(self.configuration())),
            Body::UeConfigRequest => self.reply(xid, Body::UeConfigs(self.ue_configurations())),
            Body::LogicalChannelRequest => self.reply(xid, Body::LogicalChannels(self.channels())),
            Body::StatisticsRequest(request) => self.statistics(xid, &request),
            Body::DlMacConfig(_) => self.events.push_back(AgentEvent::Controlled),
            Body::Disconnect => self.events.push_back(AgentEvent::Close),
            // what only agents send
            Body::Statistics(_)
            | Body::EnbConfig(_)
            | Body::UeConfigs(_)
            | Body::LogicalChannels(_)
            | Body::UeStateChange(_) => return self.events.push_back(AgentEvent::Fault),
            // other requests of controllers are not answered
            Body::Other(_) => return,
        }
        if !std::mem::replace(&mut self.is_up, true) {
            // before what it has led to
            self.events.push_front(AgentEvent::Up);
        }
    }

    fn timeout_ns(&self) -> Option<u64> {
        None
    }

    fn expire(&mut self, _: u64) {}

    fn poll_transmit(&mut self, out: &mut Vec<u8>) -> bool {
        let Some(message) = self.out.pop_front() else { return false };
        out.extend_from_slice(&message);
        true
    }

    fn poll_event(&mut self) -> Option<AgentEvent> {
        self.events.pop_front()
    }

    fn write_report(&mut self, report: Report, out: &mut Vec<u8>) -> bool {
        let Some(xid) = self.report_xid else { return false };
        let fields = self.content.report(report.ues, report.number);
        Message::write(Kind::STATISTICS, Direction::Successful, xid, fields, out);
        true
    }

    fn set_users(&mut self, users: u16) {
        let users = users.min(MAX_UES);
        if self.is_up {
            for ue in users..self.ues {
                self.change_ue(ue, UeStateChangeKind::DEACTIVATED);
            }
            for ue in self.ues..users {
                self.change_ue(ue, UeStateChangeKind::ACTIVATED);
            }
        }
        self.ues = users;
    }

    fn ask(&mut self) -> Option<u32> {
        if self.report_xid.is_none() || self.echoes.len() >= MAX_ECHOES {
            return None;
        }
        self.asked = self.asked.wrapping_add(1);
        let xid = ECHO_XID | self.asked;
        self.echoes.push_back((xid, self.asked));
        self.out.push_back(Message::request(xid, Body::EchoRequest(Echo::default())).encode());
        Some(self.asked)
    }
}

impl FlexRanAgent {
    fn reply(&mut self, xid: u32, body: Body) {
        self.out.push_back(Message::reply(xid, body).encode());
    }

    fn configuration(&self) -> EnbConfig {
        let cell = CellConfig {
            pci: self.number % 504,
            dl_prbs: PRBS,
            ul_prbs: PRBS,
            antenna_ports: Some(1),
            duplex_mode: Some(1),
            band: Some(7),
            plmns: vec![PlmnId { mcc: 1, mnc: 1, mnc_digits: 2 }],
            ..CellConfig::default()
        };
        EnbConfig { enb_id: Some(self.number), cells: vec![cell] }
    }

    /// UEs whose IMSIs are those of no other agent: 001 01, and ten digits.
    fn ue_configurations(&self) -> UeConfigs {
        UeConfigs { ues: (0..self.ues).map(|ue| self.ue_configuration(ue)).collect() }
    }

    fn ue_configuration(&self, ue: u16) -> UeConfig {
        let imsi = 1_010_000_000_000 + u64::from(self.number) * u64::from(MAX_UES) + u64::from(ue);
        let rnti = FIRST_RNTI + u32::from(ue);
        UeConfig { rnti, transmission_mode: Some(1), imsi: Some(imsi), ..UeConfig::default() }
    }

    /// A UE has arrived or is gone.
    fn change_ue(&mut self, ue: u16, kind: UeStateChangeKind) {
        self.next_xid += 1;
        let change = UeStateChange { kind, config: self.ue_configuration(ue) };
        self.out.push_back(Message::request(self.next_xid, Body::UeStateChange(change)).encode());
    }

    /// A bearer of each UE, with QCI 9.
    fn channels(&self) -> LogicalChannels {
        let bearer =
            || LogicalChannel { lcid: 3, direction: Some(2), bearer_type: Some(0), qci: Some(8), ..Default::default() };
        let of_ue = |ue: u16| UeChannels { rnti: FIRST_RNTI + u32::from(ue), channels: vec![bearer()] };
        LogicalChannels { ues: (0..self.ues).map(of_ue).collect() }
    }

    /// Statistics are requested. A request replaces the one before.
    fn statistics(&mut self, xid: u32, request: &StatisticsRequest) {
        let Some(CompleteStatisticsRequest { frequency, subframes, .. }) = &request.complete else {
            self.events.push_back(AgentEvent::Fault);
            return;
        };
        let period_ms = match *frequency {
            ReportFrequency::ONCE => {
                let mut report = Vec::new();
                Message::write(
                    Kind::STATISTICS,
                    Direction::Successful,
                    xid,
                    self.content.report(self.ues, 0),
                    &mut report,
                );
                self.out.push_back(report);
                return;
            }
            ReportFrequency::PERIODICAL => (*subframes).max(1),
            ReportFrequency::CONTINUOUS => 1,
            _ => 0,
        };
        if self.report_xid.take().is_some() {
            self.events.push_back(AgentEvent::Unsubscribed { slot: SLOT });
        }
        if period_ms > 0 {
            self.report_xid = Some(xid);
            self.events.push_back(AgentEvent::Subscribed { slot: SLOT, period_ns: u64::from(period_ms) * 1_000_000 });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent() -> Box<dyn Agent> {
        let content = Arc::new(FlexRanContent::record(2, 1).unwrap());
        FlexRan::new(content, 2).agent(7)
    }

    fn sent(agent: &mut dyn Agent) -> Vec<Message> {
        let mut all = Vec::new();
        let mut out = Vec::new();
        while agent.poll_transmit(&mut out) {
            all.push(Message::decode(&out).unwrap());
            out.clear();
        }
        all
    }

    fn events(agent: &mut dyn Agent) -> Vec<AgentEvent> {
        std::iter::from_fn(|| agent.poll_event()).collect()
    }

    fn receive(agent: &mut dyn Agent, xid: u32, body: Body) {
        agent.receive(0, &Message::request(xid, body).encode());
    }

    #[test]
    fn hello_configurations_and_statistics_are_as_requested() {
        let mut agent = agent();
        let agent = &mut *agent;
        agent.open(0);
        let [hello] = &sent(agent)[..] else { panic!("a hello") };
        assert_eq!((hello.direction, hello.kind()), (Direction::Initiating, Kind::HELLO));
        receive(agent, 5, Body::Hello(Hello::default()));
        let answers = sent(agent);
        assert_eq!((answers[0].direction, answers[0].xid, answers[0].kind()), (Direction::Successful, 5, Kind::HELLO));
        assert_eq!(events(agent), [], "the hello of a controller is no answer");
        agent.receive(0, &Message::reply(hello.xid, Body::Hello(Hello::default())).encode());
        assert_eq!(events(agent), [AgentEvent::Up]);
        receive(agent, 6, Body::EnbConfigRequest);
        receive(agent, 7, Body::UeConfigRequest);
        receive(agent, 8, Body::LogicalChannelRequest);
        receive(agent, 9, Body::EchoRequest(Echo::default()));
        let answers = sent(agent);
        let Body::EnbConfig(enb) = &answers[0].body else { panic!("{answers:?}") };
        assert_eq!((enb.enb_id, enb.cells.len()), (Some(7), 1));
        let Body::UeConfigs(ues) = &answers[1].body else { panic!("{answers:?}") };
        assert_eq!(ues.ues.iter().map(|ue| ue.imsi.unwrap() % 1000).collect::<Vec<_>>(), [448, 449]);
        let Body::LogicalChannels(channels) = &answers[2].body else { panic!("{answers:?}") };
        assert_eq!((channels.ues.len(), answers[3].kind(), answers[3].xid), (2, Kind::ECHO_REPLY, 9));
        receive(agent, 10, Body::StatisticsRequest(StatisticsRequest::periodical(20, 0)));
        assert_eq!(events(agent), [AgentEvent::Subscribed { slot: 0, period_ns: 20_000_000 }]);
        let mut out = Vec::new();
        assert!(agent.write_report(Report { slot: 0, time_stamp: [0; 8], number: 3, ues: 2 }, &mut out));
        let report = Message::decode(&out).unwrap();
        let Body::Statistics(statistics) = report.body else { panic!("{report:?}") };
        assert_eq!((report.xid, statistics.ues.len()), (10, 2));
    }

    #[test]
    fn users_that_come_and_go_are_notified() {
        let mut agent = agent();
        let agent = &mut *agent;
        agent.open(0);
        receive(agent, 1, Body::EnbConfigRequest);
        sent(agent);
        let changes = |agent: &mut dyn Agent, users| {
            agent.set_users(users);
            let change = |message: Message| match message.body {
                Body::UeStateChange(change) => (change.kind, change.config.rnti),
                other => panic!("{other:?}"),
            };
            sent(agent).into_iter().map(change).collect::<Vec<_>>()
        };
        assert_eq!(changes(agent, 3), [(UeStateChangeKind::ACTIVATED, 0x4603)]);
        let gone = UeStateChangeKind::DEACTIVATED;
        assert_eq!(changes(agent, 1), [(gone, 0x4602), (gone, 0x4603)]);
        assert_eq!(changes(agent, 1), []);
        assert_eq!(changes(agent, u16::MAX).len(), 63);
    }

    #[test]
    fn answer_to_an_echo_confirms_all_before_it() {
        let mut agent = agent();
        let agent = &mut *agent;
        agent.open(0);
        assert_eq!(agent.ask(), None, "nothing is reported yet");
        receive(agent, 1, Body::StatisticsRequest(StatisticsRequest::periodical(10, 0)));
        assert_eq!(events(agent)[0], AgentEvent::Up, "a request without an answer to the hello");
        sent(agent);
        let numbers: Vec<_> = (0..3).map(|_| agent.ask().unwrap()).collect();
        let echoes = sent(agent);
        agent.receive(0, &Message::reply(echoes[1].xid, Body::EchoReply(Echo::default())).encode());
        agent.receive(0, &Message::reply(echoes[0].xid, Body::EchoReply(Echo::default())).encode());
        agent.receive(0, &Message::reply(echoes[2].xid, Body::EchoReply(Echo::default())).encode());
        let answered = |at: usize| AgentEvent::Answered { number: numbers[at] };
        assert_eq!(events(agent), [answered(1), AgentEvent::Fault, answered(2)]);
        assert_eq!((0..2 * MAX_ECHOES).filter(|_| agent.ask().is_some()).count(), MAX_ECHOES);
        agent.close(0);
        assert_eq!(events(agent), [AgentEvent::Unsubscribed { slot: 0 }]);
        assert!(sent(agent).is_empty());
    }

    #[test]
    fn statistics_end_and_begin_again() {
        let mut agent = agent();
        let agent = &mut *agent;
        agent.open(0);
        let request = |frequency, subframes| {
            let complete = CompleteStatisticsRequest { frequency, subframes, ..Default::default() };
            Body::StatisticsRequest(StatisticsRequest { kind: 0, complete: Some(complete) })
        };
        let report = Report { slot: 0, time_stamp: [0; 8], number: 0, ues: 1 };
        receive(agent, 1, request(ReportFrequency::CONTINUOUS, 0));
        receive(agent, 2, request(ReportFrequency::PERIODICAL, 0));
        let subscribed = AgentEvent::Subscribed { slot: 0, period_ns: 1_000_000 };
        let unsubscribed = AgentEvent::Unsubscribed { slot: 0 };
        assert_eq!(events(agent), [AgentEvent::Up, subscribed, unsubscribed, subscribed]);
        receive(agent, 3, request(ReportFrequency::OFF, 0));
        assert_eq!(events(agent), [unsubscribed]);
        assert!(!agent.write_report(report, &mut Vec::new()));
        sent(agent);
        receive(agent, 4, request(ReportFrequency::ONCE, 0));
        assert_eq!(
            sent(agent).iter().map(|message| (message.kind(), message.xid)).collect::<Vec<_>>(),
            [(Kind::STATISTICS, 4)]
        );
        receive(agent, 5, Body::StatisticsRequest(StatisticsRequest::default()));
        agent.receive(0, b"garbage");
        receive(agent, 6, Body::UeConfigs(UeConfigs::default()));
        assert_eq!(events(agent), [AgentEvent::Fault; 3]);
    }
}
