//! The arguments of measurements and of conditional handovers: what triggers them.

use anyhow::{Context, bail};
use e2sm::rc::{
    MeasurementChange, MeasurementCondition, MeasurementEvent, MeasurementTrigger, REPORT_INTERVALS_MS,
    TIMES_TO_TRIGGER_MS,
};

use super::ue::UeArgs;

/// Prepare a handover that the UE executes by itself
///
/// The UE is handed over to the cell once its condition holds: event a3 or a5, or by default the condition of the order before, or
/// the event of handovers in its cell. Further cells can be prepared; --cancel cancels all.
#[derive(clap::Args)]
pub(super) struct ConditionalHandOver {
    #[command(flatten)]
    pub ue: UeArgs,
    /// Target cell: its NR cell identity (36 bits, hex) in the node's PLMN.
    #[arg(long, value_name = "HEX", value_parser = super::actions::cell_identity, required_unless_present = "cancel")]
    pub cell: Option<u64>,
    /// Cancel all preparations of the UE.
    #[arg(long, conflicts_with_all = ["cell", "event"])]
    pub cancel: bool,
    #[command(flatten)]
    pub condition: EventArgs,
}

/// Have a UE measure and report; the answer has the measurement's identity
#[derive(clap::Args)]
pub(super) struct AddMeasurement {
    #[command(flatten)]
    pub ue: UeArgs,
    #[command(flatten)]
    pub trigger: TriggerArgs,
}

/// Change what triggers the reports of a measurement
#[derive(clap::Args)]
pub(super) struct ChangeMeasurement {
    #[command(flatten)]
    pub ue: UeArgs,
    /// Identity of the measurement.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=64))]
    id: u8,
    #[command(flatten)]
    trigger: TriggerArgs,
}

/// Delete a measurement
#[derive(clap::Args)]
pub(super) struct DeleteMeasurement {
    #[command(flatten)]
    pub ue: UeArgs,
    /// Identity of the measurement.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=64))]
    pub id: u8,
}

/// What triggers reports: the time, or an event.
#[derive(clap::Args)]
#[command(group(clap::ArgGroup::new("trigger").args(["interval_ms", "event"]).required(true)))]
pub(super) struct TriggerArgs {
    /// Interval of periodic reports in ms: a value of TS 38.331, such as 480 or 1024.
    #[arg(long, value_name = "MS", value_parser = report_interval)]
    interval_ms: Option<u32>,
    #[command(flatten)]
    event: EventArgs,
}

/// An event on RSRP (TS 38.331 5.5.4).
#[derive(clap::Args)]
pub(super) struct EventArgs {
    /// Event (TS 38.331 5.5.4).
    #[arg(long, value_name = "EVENT", requires = "time_to_trigger_ms")]
    event: Option<EventName>,
    /// Threshold of the serving cell's RSRP in dBm: events a1, a2, a5 and b2.
    #[arg(long, value_name = "DBM", requires = "event", allow_negative_numbers = true, value_parser = clap::value_parser!(i16).range(-156..=-31))]
    serving_dbm: Option<i16>,
    /// Threshold of the neighbour's RSRP in dBm: events a4, a5, b1 and b2.
    #[arg(long, value_name = "DBM", requires = "event", allow_negative_numbers = true, value_parser = clap::value_parser!(i16).range(-156..=-31))]
    neighbour_dbm: Option<i16>,
    /// Offset by which a neighbour is better in dB: event a3; from -15 to 15 in steps of 0.5.
    #[arg(long, value_name = "DB", requires = "event", allow_negative_numbers = true, value_parser = offset)]
    offset_db: Option<i8>,
    /// Hysteresis in dB, from 0 to 15 in steps of 0.5. [default: 0]
    #[arg(long, value_name = "DB", requires = "event", value_parser = hysteresis)]
    hysteresis_db: Option<u8>,
    /// Time for which the event's condition holds in ms: a value of TS 38.331, such as 0 or 320.
    #[arg(long, value_name = "MS", requires = "event", value_parser = time_to_trigger)]
    time_to_trigger_ms: Option<u16>,
}

/// The events whose condition is on RSRP. a6 needs secondary cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum EventName {
    /// The serving cell is better than --serving-dbm.
    A1,
    /// The serving cell is worse than --serving-dbm.
    A2,
    /// A neighbour is better than the serving cell by --offset-db.
    A3,
    /// A neighbour is better than --neighbour-dbm.
    A4,
    /// The serving cell is worse than --serving-dbm, and a neighbour better than --neighbour-dbm.
    A5,
    /// As a4, for a cell of the other radio access technology.
    B1,
    /// As a5, for a cell of the other radio access technology.
    B2,
}

/// Parses a number of dB as steps of 0.5 dB.
fn half_db(text: &str, least: i8, most: i8) -> Result<i8, String> {
    let steps = text.parse::<f64>().ok().map(|db| db * 2.0);
    let is_step = |steps: &f64| steps.fract() == 0.0 && (f64::from(least)..=f64::from(most)).contains(steps);
    // within i8, as its bounds are
    steps.filter(is_step).map(|steps| steps as i8).ok_or_else(|| {
        format!("not a number from {} to {} in steps of 0.5", f64::from(least) / 2.0, f64::from(most) / 2.0)
    })
}

fn offset(text: &str) -> Result<i8, String> {
    half_db(text, -30, 30)
}

fn hysteresis(text: &str) -> Result<u8, String> {
    half_db(text, 0, 30).map(i8::unsigned_abs)
}

/// Parses one of these values.
fn one_of<T: Copy + PartialEq + std::str::FromStr + ToString>(text: &str, values: &[T]) -> Result<T, String> {
    let value = text.parse().ok().filter(|value| values.contains(value));
    let known = || values.iter().map(T::to_string).collect::<Vec<_>>().join(", ");
    value.ok_or_else(|| format!("none of {}", known()))
}

fn report_interval(text: &str) -> Result<u32, String> {
    one_of(text, &REPORT_INTERVALS_MS)
}

fn time_to_trigger(text: &str) -> Result<u16, String> {
    one_of(text, &TIMES_TO_TRIGGER_MS)
}

impl EventArgs {
    /// The event, if one is given.
    ///
    /// # Errors
    /// If a threshold is missing, or has no meaning with this event.
    pub fn event(&self) -> anyhow::Result<Option<MeasurementEvent>> {
        let Some(event) = self.event else { return Ok(None) };
        let name = format!("{event:?}").to_lowercase();
        let serving = || self.serving_dbm.with_context(|| format!("event {name} needs --serving-dbm"));
        let neighbour = || self.neighbour_dbm.with_context(|| format!("event {name} needs --neighbour-dbm"));
        let offset = || self.offset_db.with_context(|| format!("event {name} needs --offset-db"));
        let condition = match event {
            EventName::A1 => MeasurementCondition::A1 { serving_dbm: serving()? },
            EventName::A2 => MeasurementCondition::A2 { serving_dbm: serving()? },
            EventName::A3 => MeasurementCondition::A3 { offset_half_db: offset()? },
            EventName::A4 => MeasurementCondition::A4 { neighbour_dbm: neighbour()? },
            EventName::A5 => MeasurementCondition::A5 { serving_dbm: serving()?, neighbour_dbm: neighbour()? },
            EventName::B1 => MeasurementCondition::B1 { neighbour_dbm: neighbour()? },
            EventName::B2 => MeasurementCondition::B2 { serving_dbm: serving()?, neighbour_dbm: neighbour()? },
        };
        let has_serving = matches!(event, EventName::A1 | EventName::A2 | EventName::A5 | EventName::B2);
        let has_neighbour = matches!(event, EventName::A4 | EventName::A5 | EventName::B1 | EventName::B2);
        for (is_given, is_used, option) in [
            (self.serving_dbm.is_some(), has_serving, "--serving-dbm"),
            (self.neighbour_dbm.is_some(), has_neighbour, "--neighbour-dbm"),
            (self.offset_db.is_some(), event == EventName::A3, "--offset-db"),
        ] {
            if is_given && !is_used {
                bail!("event {name} has no {option}: leave it out");
            }
        }
        let time_to_trigger_ms = self.time_to_trigger_ms.context("an event needs --time-to-trigger-ms")?;
        let hysteresis_half_db = self.hysteresis_db.unwrap_or(0);
        Ok(Some(MeasurementEvent { condition, hysteresis_half_db, time_to_trigger_ms }))
    }
}

impl TriggerArgs {
    pub fn trigger(&self) -> anyhow::Result<MeasurementTrigger> {
        match (self.interval_ms, self.event.event()?) {
            (Some(interval_ms), _) => Ok(MeasurementTrigger::Periodic { interval_ms }),
            (None, Some(event)) => Ok(MeasurementTrigger::Event(event)),
            (None, None) => bail!("a measurement needs --interval-ms or --event"),
        }
    }
}

impl ChangeMeasurement {
    pub fn change(&self) -> anyhow::Result<MeasurementChange> {
        Ok(MeasurementChange { id: self.id, trigger: self.trigger.trigger()? })
    }
}
