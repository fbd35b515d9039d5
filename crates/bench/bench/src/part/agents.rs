//! Agents without a base station that report synthetic counters: the FlexRIC paper's dummy agents.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use e2ap::{Codec, GlobalE2NodeId, GnbId, PlmnIdentity};
use e2sm::{mac, pdcp, rlc};
use ferric::Endpoint;
use ferric::agent::{AgentLoop, AgentLoopConfig, RanFunction};
use ferric::link::{self, Direction, LinkEnds, LinkObserver, StreamId, Tap, TapObserver};
use ran_functions::PeriodicConfig;
use ran_functions::hw::HwFunction;
use ran_functions::statistics::{StatisticsFunction, StatisticsRecord, StatisticsSource};
use serde::{Deserialize, Serialize};

use super::Encoding;
use super::dummy::DummyCell;
use super::stages::{Stages, Timed};

/// The functions of the agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Load {
    /// The ping.
    Hello,
    /// MAC statistics.
    Mac,
    /// MAC, RLC and PDCP statistics.
    Statistics,
}

impl Load {
    /// The number of statistics functions of an agent.
    #[must_use]
    pub fn statistics(self) -> u64 {
        match self {
            Load::Hello => 0,
            Load::Mac => 1,
            Load::Statistics => 3,
        }
    }
}

/// The parameters of agents.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Agents {
    /// The controller's address, which determines the encoding of E2AP.
    pub ric: String,
    /// Agents.
    pub nodes: u16,
    /// UEs of each agent, with one bearer each.
    pub ues: u16,
    /// Their functions.
    pub load: Load,
    /// The encoding of the service models.
    pub encoding: Encoding,
    /// Whether to measure the stages of a report.
    pub stages: bool,
}

/// The counters of agents.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AgentsCount {
    /// Agents whose setup was accepted.
    pub up: u64,
    /// Indications sent.
    pub reports: u64,
    /// Octets of the indications' PDUs.
    pub octets: u64,
    /// Indications dropped from full queues.
    pub dropped: u64,
    /// Median times of the stages of a report, averaged over the models: gathering, encoding of the model, encoding of
    /// E2AP. `None` if they are not measured.
    pub stages_ns: Option<[f64; 3]>,
}

/// The traffic of the agents' links.
#[derive(Debug, Default)]
struct Sent {
    codec: Codec,
    reports: AtomicU64,
    octets: AtomicU64,
}

struct Counting(Arc<Sent>);

impl TapObserver for Counting {
    fn begin(&self, _: LinkEnds<'_>) -> Box<dyn LinkObserver> {
        Box::new(Counting(self.0.clone()))
    }
}

impl LinkObserver for Counting {
    fn pdu(&self, direction: Direction, _: StreamId, parts: &[&[u8]]) {
        // the loop sends each PDU in one part
        if let (Direction::Sent, [pdu]) = (direction, parts)
            && self.0.codec.peek_indication(pdu).is_some()
        {
            self.0.reports.fetch_add(1, Relaxed);
            self.0.octets.fetch_add(pdu.len() as u64, Relaxed);
        }
    }
}

impl Agents {
    /// Runs the agents until the input ends.
    ///
    /// # Errors
    /// If the event loop fails.
    pub fn run(&self) -> anyhow::Result<()> {
        let endpoint: Endpoint = self.ric.parse()?;
        let sent = Arc::new(Sent { codec: endpoint.codec, ..Sent::default() });
        // a tap would add to the measured times
        let tap = (!self.stages).then(|| Tap::new(Arc::new(Counting(sent.clone()))));
        let link = link::Config { tap, ..link::Config::default() };
        let mut agents = AgentLoop::new(AgentLoopConfig { link, ..AgentLoopConfig::default() })?;
        let stages = Stages::default();
        for number in 1..=self.nodes {
            let id = GlobalE2NodeId::gnb(PlmnIdentity::from_codes(1, 1, 2), GnbId::new(number.into(), 28));
            agents.add(id, endpoint.clone(), self.functions(&stages));
        }
        let (up, dropped) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let count = (up.clone(), dropped.clone(), stages.clone());
        let stop = agents.stop_handle();
        super::answer(stop.clone(), move || AgentsCount {
            up: count.0.load(Relaxed),
            reports: sent.reports.load(Relaxed),
            octets: sent.octets.load(Relaxed),
            dropped: count.1.load(Relaxed),
            stages_ns: count.2.medians_ns(),
        });
        while !stop.is_stopped() {
            agents.poll(Some(Duration::from_millis(50)))?;
            up.store(agents.connected_controllers() as u64, Relaxed);
            dropped.store(agents.dropped_reports(), Relaxed);
        }
        Ok(())
    }

    fn functions(&self, stages: &Stages) -> Vec<Box<dyn RanFunction>> {
        let cell = Rc::new(RefCell::new(DummyCell::new(self.ues, self.stages)));
        let mut functions: Vec<Box<dyn RanFunction>> = Vec::new();
        match self.load {
            Load::Hello => functions.push(Box::new(HwFunction::with_wire(self.encoding.wire()))),
            Load::Mac | Load::Statistics => functions.push(self.statistics::<mac::UeStats>(&cell, stages)),
        }
        if self.load == Load::Statistics {
            functions.push(self.statistics::<rlc::BearerStats>(&cell, stages));
            functions.push(self.statistics::<pdcp::BearerStats>(&cell, stages));
        }
        functions
    }

    fn statistics<R: StatisticsRecord>(&self, cell: &Rc<RefCell<DummyCell>>, stages: &Stages) -> Box<dyn RanFunction>
    where
        DummyCell: StatisticsSource<R>,
    {
        let config = PeriodicConfig { wire: self.encoding.wire(), ..PeriodicConfig::default() };
        let function = StatisticsFunction::<R, _>::new(Rc::clone(cell), config);
        match cell.borrow().gathered() {
            Some(gathered) => Box::new(Timed::new(function, gathered, stages)),
            None => Box::new(function),
        }
    }
}
