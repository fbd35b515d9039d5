//! Slicing: the shares of the slices of a cell that do not lend each other what they leave unused.

use e2sm::common::{SNssai, Sd, Sst};
use e2sm::slice::{ControlMessage, DirectionSlices, NvsParameters, Parameters, Share, Slice, SliceConfiguration};
use ferric::xapp::Error;
use per::PrintableString;
use ran::{Scenario, Stepped};

use super::controls::Function;
use super::task::{Actions, Quantity, Task, invalid};

/// The node of the cell.
const NODE: usize = 0;
/// The least share of a slice, in percent.
const LEAST_PERCENT: f64 = 2.0;
/// Shares are multiples of this, in percent, so that their sum is never above 100.
const GRAIN_PERCENT: f64 = 0.1;
/// The rate of the slices without a delay budget that has a reward of 1, in Mbit/s.
const REFERENCE_MBPS: f64 = 50.0;
/// The most slices.
const MAX_SLICES: usize = 8;

/// The delay budget of a slice in RLC, in ms, by its slice/service type (TS 23.501 table 5.15.2.2-1): part of the packet delay
/// budgets of video (5QI 2 and 7) and of delay-critical flows (5QI 80) in TS 23.501 table 5.7.4-1. Other types have none.
fn delay_budget_ms(sst: u8) -> Option<f64> {
    match sst {
        1 => Some(100.0),
        2 => Some(10.0),
        _ => None,
    }
}

/// A slice of the cell.
struct SliceOf {
    id: u32,
    name: SNssai,
    share_percent: f64,
}

/// The task.
pub struct Slicing {
    /// The slices of the scenario.
    initial: Vec<SliceOf>,
    scheduler: String,
    shares_percent: Vec<f64>,
    function: Option<Function>,
}

impl Slicing {
    /// The task in a scenario whose first cell has slices by share in the downlink, each of a slice/service type of its own.
    ///
    /// # Errors
    /// [`Error::Invalid`].
    pub fn new(scenario: &Scenario) -> Result<Self, Error> {
        let wrong = |value: String, expected: &str| invalid("scenario", value, expected);
        let slicing = scenario.cells.first().map(|cell| &cell.slicing);
        let slicing = slicing.ok_or_else(|| wrong("no cell".into(), "a cell with slices"))?;
        let downlink = &slicing.slices.dl;
        if !(2..=MAX_SLICES).contains(&downlink.slices.len()) {
            let count = format!("{} slices in the downlink", downlink.slices.len());
            return Err(wrong(count, "2 to 8 slices in the downlink of the first cell"));
        }
        let of = |slice: &Slice<'_>| {
            let rule = slicing.rules.iter().find(|rule| rule.dl == Some(slice.id));
            let sst = rule.and_then(|rule| Some((rule.sst?, rule.sd)));
            let (sst, sd) =
                sst.ok_or_else(|| wrong(format!("slice {} without sst", slice.id), "an sst for each slice"))?;
            let Parameters::Nvs(NvsParameters::Capacity(share)) = &slice.parameters else {
                return Err(wrong(
                    format!("slice {} without capacity_percent", slice.id),
                    "slices with capacity_percent",
                ));
            };
            let name = SNssai { sst: Sst([sst]), sd: sd.map(Sd) };
            Ok(SliceOf { id: slice.id, name, share_percent: f64::from(share.reserved) * 100.0 })
        };
        let initial = downlink.slices.iter().map(of).collect::<Result<Vec<_>, Error>>()?;
        let scheduler = downlink.scheduler.to_string();
        Ok(Slicing { initial, scheduler, shares_percent: Vec::new(), function: None })
    }
}

/// Shares in percent by weight: each slice has at least 2 %, the rest is divided by the weights, or equally if all are 0.
fn shares(weights: &[f64]) -> Vec<f64> {
    let sum: f64 = weights.iter().sum();
    let rest = 100.0 - LEAST_PERCENT * weights.len() as f64;
    let part = |weight: f64| if sum > 0.0 { weight / sum } else { 1.0 / weights.len() as f64 };
    let share = |weight: &f64| {
        let share = LEAST_PERCENT + rest * part(*weight);
        // a share that is a multiple stays one in spite of rounding
        ((share / GRAIN_PERCENT + 1e-6).floor() * GRAIN_PERCENT).max(LEAST_PERCENT)
    };
    weights.iter().map(share).collect()
}

impl Task for Slicing {
    fn quantities(&self) -> Vec<Quantity> {
        let of = |slice: &SliceOf| {
            let id = slice.id;
            [
                Quantity::new(format!("slice {id} DRB.RlcSduTransmittedVolumeDL"), "Mbit/s", 1000.0),
                Quantity::new(format!("slice {id} RRU.PrbTotDl"), "%", 100.0),
                Quantity::new(format!("slice {id} DRB.RlcSduDelayDl"), "ms", 10_000.0),
                Quantity::new(format!("slice {id} DRB.BufferSize.Qos"), "kB", 100_000.0),
                Quantity::new(format!("slice {id} share"), "%", 100.0),
            ]
        };
        self.initial.iter().flat_map(of).collect()
    }

    fn actions(&self) -> Actions {
        Actions::Weights(self.initial.len())
    }

    fn vary(&self, _scenario: &mut Scenario) {}

    fn begin(&mut self, ran: &Stepped) -> Result<(), Error> {
        self.function = Some(Function::of_slices(ran, NODE)?);
        self.shares_percent = self.initial.iter().map(|slice| slice.share_percent).collect();
        Ok(())
    }

    fn act(&mut self, ran: &mut Stepped, action: &[f64]) -> Result<(), Error> {
        let wanted = shares(action);
        let Some(function) = self.function.filter(|_| wanted != self.shares_percent) else { return Ok(()) };
        let slice = |(of, percent): (&SliceOf, &f64)| Slice {
            id: of.id,
            label: PrintableString::literal(""),
            ue_scheduler: PrintableString::literal(""),
            parameters: Parameters::Nvs(NvsParameters::Capacity(Share { reserved: (percent / 100.0) as f32 })),
        };
        let slices: Vec<Slice<'_>> = self.initial.iter().zip(&wanted).map(slice).collect();
        let scheduler = PrintableString::try_from(self.scheduler.as_str())
            .map_err(|_| invalid("scenario", &self.scheduler, "the name of a slice scheduler"))?;
        let dl = DirectionSlices { scheduler, slices: slices.into() };
        let message = ControlMessage::AddOrModify(SliceConfiguration { dl, ..SliceConfiguration::default() });
        function.control_slices(ran, &message)?;
        self.shares_percent = wanted;
        Ok(())
    }

    fn observe(&mut self, ran: &Stepped, seconds: f64, observation: &mut [f32]) -> f64 {
        let mut reward = 0.0;
        let rows = self.initial.iter().zip(&self.shares_percent).zip(observation.chunks_exact_mut(5));
        for ((slice, share_percent), row) in rows {
            let measure = |name| ran.measure_slice(NODE, slice.name, name);
            // kbit, %, 0.1 ms, octets
            let mbps = measure("DRB.RlcSduTransmittedVolumeDL").unwrap_or(0.0) / 1e3 / seconds;
            let usage_percent = measure("RRU.PrbTotDl").unwrap_or(0.0);
            let delay_ms = measure("DRB.RlcSduDelayDl").map(|delay| delay / 10.0);
            let buffered = measure("DRB.BufferSize.Qos").unwrap_or(0.0);
            reward += match delay_budget_ms(slice.name.sst.0[0]) {
                None => mbps / REFERENCE_MBPS,
                Some(budget_ms) => match delay_ms {
                    Some(delay_ms) => (2.0 - delay_ms / budget_ms).clamp(0.0, 1.0),
                    // nothing was sent of what waits
                    None if buffered > 0.0 => 0.0,
                    None => 1.0,
                },
            };
            let values = [mbps, usage_percent, delay_ms.unwrap_or(0.0), buffered / 1e3, *share_percent];
            row.iter_mut().zip(values).for_each(|(place, value)| *place = value as f32);
        }
        reward
    }
}
