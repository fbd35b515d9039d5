//! Traffic control: queues and pacer of a bearer that a call and downloads share.

use e2sm::tc::{
    Bdp, ClassifierControl, ControlMessage, DelayTarget, DeleteFilter, FiveTuple, ModifyQueue, NewFilter, NewOsiFilter,
    PacerControl, PacerParameters, QueueControl, QueueParameters,
};
use ferric::xapp::Error;
use radio::traffic::Kind;
use ran::{Scenario, Stepped};

use super::controls::Function;
use super::task::{Actions, Quantity, Task, invalid};

const NODE: usize = 0;
const CELL: usize = 0;
/// The queue that every bearer has.
const FIRST_QUEUE: u32 = 0;
/// IP protocol number of UDP (RFC 768).
const UDP: u8 = 17;
/// The choices: bits of the settings.
const CALL_QUEUE: u8 = 1;
const PACER: u8 = 2;
const CODEL: u8 = 4;
const CHOICES: usize = 8;
/// Target and interval of CoDel (RFC 8289 4.3, 4.4).
const TARGET: DelayTarget = DelayTarget { target_ms: 5, interval_ms: 100 };
/// The one-way delay of the call that costs nothing, and the excess that costs 1, in ms.
const FREE_DELAY_MS: f64 = 20.0;
const COSTLY_DELAY_MS: f64 = 100.0;
/// The rate of the bearer that has a reward of 1, in Mbit/s.
const REFERENCE_MBPS: f64 = 60.0;

/// The task.
pub struct TrafficControl {
    /// The UE with the call, and its flow.
    ue: u64,
    flow: usize,
    function: Option<Function>,
    choice: u8,
    /// The number of the call's queue once it has been added; it stays.
    call_queue: Option<u32>,
    /// The delays of the call until the last step.
    delays: Delays,
}

/// The delays of the call until a step: their number, and their sum in ms.
#[derive(Clone, Copy, Default)]
struct Delays {
    count: u64,
    sum_ms: f64,
}

impl TrafficControl {
    /// The task in a scenario with a call (`voip`) in the first cell, whose bearers have one queue.
    ///
    /// # Errors
    /// [`Error::Invalid`].
    pub fn new(scenario: &Scenario) -> Result<Self, Error> {
        let wrong = |value: &str, expected: &str| Err(invalid("scenario", value, expected));
        let Some(cell) = scenario.cells.first() else { return wrong("no cell", "a cell with a call") };
        let tc = &cell.radio.tc;
        let is_plain = tc.queues.len() == 1 && tc.queues[0].id.0 == FIRST_QUEUE;
        if !is_plain {
            return wrong("traffic_control with other queues", "bearers with the default queue in the first cell");
        }
        let call = scenario.ues.iter().enumerate().filter(|(_, ue)| ue.cell == CELL).find_map(|(number, ue)| {
            let is_call = |kind: &Kind| matches!(kind, Kind::Voip { .. });
            let flow = ue.flows.iter().position(|flow| is_call(&flow.specification.kind))?;
            Some((number as u64, flow))
        });
        let Some((ue, flow)) = call else { return wrong("no call", "a UE with a flow of kind voip in the first cell") };
        Ok(TrafficControl { ue, flow, function: None, choice: 0, call_queue: None, delays: Delays::default() })
    }

    fn delays(&self, ran: &Stepped) -> Delays {
        let network = ran.network();
        let call = network.cell(CELL).ues().find(|(_, ue)| ue.number() == self.ue);
        let delay = call.and_then(|(_, ue)| ue.flows().get(self.flow)).map(|flow| &flow.counts().downlink.delay);
        delay.map_or(self.delays, |delay| {
            let count = delay.count();
            Delays { count, sum_ms: delay.mean_ms().unwrap_or(0.0) * count as f64 }
        })
    }
}

impl Task for TrafficControl {
    fn quantities(&self) -> Vec<Quantity> {
        vec![
            Quantity::new("DRB.RlcSduTransmittedVolumeDL", "Mbit/s", 1000.0),
            Quantity::new("RRU.PrbTotDl", "%", 100.0),
            Quantity::new("DRB.RlcSduDelayDl", "ms", 10_000.0),
            Quantity::new("DRB.BufferSize.Qos", "kB", 100_000.0),
            Quantity::new("DRB.PdcpSduDelayDl", "ms", 10_000.0),
            Quantity::new("delay of the call", "ms", 10_000.0),
            Quantity::new("call queue", "0, 1", 1.0),
            Quantity::new("pacer", "0, 1", 1.0),
            Quantity::new("CoDel", "0, 1", 1.0),
        ]
    }

    fn actions(&self) -> Actions {
        Actions::Choice(CHOICES)
    }

    fn vary(&self, _scenario: &mut Scenario) {}

    fn begin(&mut self, ran: &Stepped) -> Result<(), Error> {
        self.function = Some(Function::of_traffic_control(ran, NODE)?);
        (self.choice, self.call_queue) = (0, None);
        self.delays = Delays::default();
        self.delays = self.delays(ran);
        Ok(())
    }

    fn act(&mut self, ran: &mut Stepped, action: &[f64]) -> Result<(), Error> {
        let wanted = action[0] as u8;
        let changed = wanted ^ self.choice;
        let Some(function) = self.function else { return Ok(()) };
        if changed & CALL_QUEUE != 0 {
            let queue = match self.call_queue {
                Some(queue) => queue,
                None => {
                    function.control_traffic(ran, &ControlMessage::Queue(QueueControl::Add(QueueParameters::Fifo)))?;
                    *self.call_queue.insert(FIRST_QUEUE + 1)
                }
            };
            let flow = FiveTuple {
                source_address: None,
                destination_address: None,
                source_port: None,
                destination_port: None,
                protocol: Some(UDP),
            };
            // the only filter has the smallest unused number
            let filter = match wanted & CALL_QUEUE {
                0 => ClassifierControl::Delete(DeleteFilter::Osi(0)),
                _ => ClassifierControl::Add(NewFilter::Osi(NewOsiFilter { flow, queue_id: queue })),
            };
            function.control_traffic(ran, &ControlMessage::Classifier(filter))?;
        }
        if changed & PACER != 0 {
            let pacer = match wanted & PACER {
                0 => PacerParameters::Off,
                _ => PacerParameters::Bdp5g(Bdp { drb_octets: 0, timestamp_us: 0 }),
            };
            function.control_traffic(ran, &ControlMessage::Pacer(PacerControl::Modify(pacer)))?;
        }
        if changed & CODEL != 0 {
            let parameters = if wanted & CODEL == 0 { QueueParameters::Fifo } else { QueueParameters::CoDel(TARGET) };
            let modify = QueueControl::Modify(ModifyQueue { id: FIRST_QUEUE, parameters });
            function.control_traffic(ran, &ControlMessage::Queue(modify))?;
        }
        self.choice = wanted;
        Ok(())
    }

    fn observe(&mut self, ran: &Stepped, seconds: f64, observation: &mut [f32]) -> f64 {
        let measure = |name| ran.measure(NODE, None, name);
        let mbps = measure("DRB.RlcSduTransmittedVolumeDL").unwrap_or(0.0) / 1e3 / seconds;
        let delays = self.delays(ran);
        let packets = delays.count - self.delays.count;
        // packets that wait are those of the next steps
        let delay_ms = (packets > 0).then(|| (delays.sum_ms - self.delays.sum_ms) / packets as f64);
        self.delays = delays;
        let has = |bit: u8| f64::from(u8::from(self.choice & bit != 0));
        let values = [
            mbps,
            measure("RRU.PrbTotDl").unwrap_or(0.0),
            measure("DRB.RlcSduDelayDl").unwrap_or(0.0) / 10.0,
            measure("DRB.BufferSize.Qos").unwrap_or(0.0) / 1e3,
            measure("DRB.PdcpSduDelayDl").unwrap_or(0.0) / 10.0,
            delay_ms.unwrap_or(0.0),
            has(CALL_QUEUE),
            has(PACER),
            has(CODEL),
        ];
        observation.iter_mut().zip(values).for_each(|(place, value)| *place = value as f32);
        let cost = delay_ms.map_or(0.0, |delay_ms| ((delay_ms - FREE_DELAY_MS) / COSTLY_DELAY_MS).clamp(0.0, 1.0));
        mbps / REFERENCE_MBPS + 1.0 - cost
    }
}
