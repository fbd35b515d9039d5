//! Slices as JSON: shares in per cent, rates in Mbit/s.

use e2sm::slice::{
    Algorithm, DirectionSlices, EdfParameters, NO_SLICE, NvsParameters, OnDemand, Parameters, Positions, Rate,
    Scn19Parameters, Share, Slice,
};
use per::PrintableString;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use rest::{Problem, not_null};

/// The schedulers that give unused resources of a slice to others, and that leave them unused.
const NVS: &str = "NVS";
const NVS_PARTITION: &str = "NVS-PARTITION";
/// The algorithm of a direction without slices and without a scheduler.
const NONE: &str = "NONE";
/// The maximum length of a name.
const MAX_NAME: usize = 255;

/// The slices of a direction.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "an object: the slices of a direction")]
#[schemars(rename = "Direction")]
pub(super) struct DirectionDocument {
    /// The algorithm that divides the direction among its slices: `NVS`, `STATIC`, `SCN19`, `EDF`, one specific to the base
    /// station, or `NONE`.
    #[schemars(length(max = 255))]
    pub algorithm: String,
    /// Whether other slices get unused resources of a slice. NVS only.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    pub sharing: Option<bool>,
    pub slices: Vec<SliceDocument>,
}

/// A slice. Exactly one of its last five fields is present.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "an object: a slice")]
#[schemars(rename = "Slice", extend("oneOf" = [
    { "required": ["share_percent"] },
    { "required": ["rate"] },
    { "required": ["positions"] },
    { "required": ["on_demand"] },
    { "required": ["deadline"] },
]))]
pub(super) struct SliceDocument {
    /// Its id in its direction.
    #[serde(default, deserialize_with = "not_null")]
    #[schemars(with = "u32")]
    pub id: Option<u32>,
    /// Its name.
    #[serde(default)]
    #[schemars(length(max = 255))]
    pub label: String,
    /// The scheduler of its UEs, such as `RR`, `PF`, `MT`; if empty, the base station chooses one.
    #[serde(default)]
    #[schemars(length(max = 255))]
    pub ue_scheduler: String,
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f32")]
    pub share_percent: Option<f32>,
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RateDocument")]
    pub rate: Option<RateDocument>,
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "PositionsDocument")]
    pub positions: Option<PositionsDocument>,
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "OnDemandDocument")]
    pub on_demand: Option<OnDemandDocument>,
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "DeadlineDocument")]
    pub deadline: Option<DeadlineDocument>,
}

/// A rate, and the reference rate of the whole cell.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "an object: a rate")]
#[schemars(rename = "Rate")]
pub(super) struct RateDocument {
    /// The required rate, in Mbit/s.
    required_mbps: f32,
    /// The reference rate of the whole cell, in Mbit/s; the share is the quotient.
    reference_mbps: f32,
}

/// Positions in the carrier, the last one included.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "an object: positions")]
#[schemars(rename = "Positions")]
pub(super) struct PositionsDocument {
    first: u32,
    last: u32,
}

/// A share that the slice gets on demand.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "an object: a share on demand")]
#[schemars(rename = "OnDemand")]
pub(super) struct OnDemandDocument {
    share_percent: f32,
    /// The logarithm of its preference.
    log_delta: f32,
    /// The window over which the share is guaranteed, in slots.
    window_slots: u32,
}

/// Resource blocks before each deadline.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "an object: a deadline")]
#[schemars(rename = "Deadline")]
pub(super) struct DeadlineDocument {
    /// The time between deadlines, in slots.
    deadline_slots: u32,
    /// The guaranteed resource blocks before each deadline.
    guaranteed_prbs: u32,
    /// The most resource blocks that it may accumulate.
    max_replenish_prbs: u32,
    /// The slices from which it may take resource blocks.
    #[serde(default)]
    over: Vec<u32>,
}

impl DirectionDocument {
    pub fn of(slices: &DirectionSlices<'_>) -> Self {
        let of_slices = slices.slices.first().map(|slice| slice.parameters.algorithm());
        let (algorithm, sharing) = match (slices.scheduler.as_str(), of_slices) {
            (NVS_PARTITION, None | Some(Algorithm::Nvs)) => (NVS.to_owned(), Some(false)),
            (NVS, None | Some(Algorithm::Nvs)) => (NVS.to_owned(), Some(true)),
            ("", None) => (NONE.to_owned(), None),
            // the slices decide if the name is empty, or names the algorithm of former slices
            (name, Some(algorithm)) if name.is_empty() || known(name).is_some() => {
                (algorithm.to_string(), (algorithm == Algorithm::Nvs).then_some(true))
            }
            (name, _) => (name.to_owned(), None),
        };
        DirectionDocument { algorithm, sharing, slices: slices.slices.iter().map(SliceDocument::of).collect() }
    }

    /// The same for a node.
    pub fn slices(&self) -> Result<DirectionSlices<'static>, Problem> {
        let scheduler = match (&*self.algorithm, self.sharing) {
            (NVS, None | Some(true)) => NVS,
            (NVS, Some(false)) => NVS_PARTITION,
            (other, Some(_)) => {
                return Err(Problem::unprocessable(format!("sharing: only NVS supports it, not `{other}`"))
                    .with("at", "sharing"));
            }
            (NONE, None) if !self.slices.is_empty() => {
                let detail = "algorithm: `NONE` has no slices, but `slices` is not empty";
                return Err(Problem::unprocessable(detail).with("at", "algorithm"));
            }
            (NONE, None) => "",
            ("", None) => {
                return Err(Problem::unprocessable(
                    "algorithm: expected a name such as `NVS` or `STATIC`; it is empty",
                )
                .with("at", "algorithm"));
            }
            (name, None) => name,
        };
        // algorithms of a base station's own divide by what a slice is promised, or by a name that we know
        let algorithm = known(scheduler);
        let slices = self.slices.iter().enumerate().map(|(at, slice)| {
            let place = format!("slices[{at}]");
            let id =
                slice.id.ok_or_else(|| Problem::unprocessable(format!("{place}: missing `id`")).with("at", &*place))?;
            slice.slice(id, algorithm, &place)
        });
        let slices = slices.collect::<Result<Vec<_>, _>>()?;
        Ok(DirectionSlices { scheduler: name(scheduler, "algorithm")?, slices: slices.into() })
    }
}

impl SliceDocument {
    pub fn of(slice: &Slice<'_>) -> Self {
        let mut document = SliceDocument {
            id: Some(slice.id),
            label: slice.label.to_string(),
            ue_scheduler: slice.ue_scheduler.to_string(),
            ..SliceDocument::default()
        };
        match &slice.parameters {
            Parameters::Nvs(NvsParameters::Capacity(share)) => document.share_percent = Some(percent(share.reserved)),
            Parameters::Nvs(NvsParameters::Rate(rate)) | Parameters::Scn19(Scn19Parameters::Dynamic(rate)) => {
                let Rate { required_mbps, reference_mbps } = *rate;
                document.rate = Some(RateDocument { required_mbps, reference_mbps });
            }
            Parameters::Static(positions) | Parameters::Scn19(Scn19Parameters::Fixed(positions)) => {
                document.positions = Some(PositionsDocument { first: positions.low, last: positions.high });
            }
            Parameters::Scn19(Scn19Parameters::OnDemand(on_demand)) => {
                document.on_demand = Some(OnDemandDocument {
                    share_percent: percent(on_demand.reserved),
                    log_delta: on_demand.log_delta,
                    window_slots: on_demand.tau_slots,
                });
            }
            Parameters::Edf(edf) => {
                document.deadline = Some(DeadlineDocument {
                    deadline_slots: edf.deadline_slots,
                    guaranteed_prbs: edf.guaranteed_prbs,
                    max_replenish_prbs: edf.max_replenish_prbs,
                    over: edf.over.to_vec(),
                });
            }
        }
        document
    }

    /// Returns the slice for a node, in a direction of that algorithm.
    pub fn slice(&self, id: u32, algorithm: Option<Algorithm>, place: &str) -> Result<Slice<'static>, Problem> {
        let refused = |why: &str| {
            if place.is_empty() {
                return Problem::unprocessable(why);
            }
            Problem::unprocessable(format!("{place}: {why}")).with("at", place)
        };
        if id == NO_SLICE {
            return Err(refused(&format!("{NO_SLICE} is not a slice id: it means no slice")));
        }
        let SliceDocument { share_percent, rate, positions, on_demand, deadline, .. } = self;
        let is_scn19 = algorithm == Some(Algorithm::Scn19);
        let parameters = match (share_percent, rate, positions, on_demand, deadline) {
            (Some(percent), None, None, None, None) => {
                Parameters::Nvs(NvsParameters::Capacity(Share { reserved: share(*percent) }))
            }
            (None, Some(rate), None, None, None) => {
                let RateDocument { required_mbps, reference_mbps } = *rate;
                let rate = Rate { required_mbps, reference_mbps };
                if is_scn19 {
                    Parameters::Scn19(Scn19Parameters::Dynamic(rate))
                } else {
                    Parameters::Nvs(NvsParameters::Rate(rate))
                }
            }
            (None, None, Some(positions), None, None) => {
                let positions = Positions { low: positions.first, high: positions.last };
                if is_scn19 {
                    Parameters::Scn19(Scn19Parameters::Fixed(positions))
                } else {
                    Parameters::Static(positions)
                }
            }
            (None, None, None, Some(on_demand), None) => Parameters::Scn19(Scn19Parameters::OnDemand(OnDemand {
                reserved: share(on_demand.share_percent),
                log_delta: on_demand.log_delta,
                tau_slots: on_demand.window_slots,
            })),
            (None, None, None, None, Some(deadline)) => Parameters::Edf(EdfParameters {
                deadline_slots: deadline.deadline_slots,
                guaranteed_prbs: deadline.guaranteed_prbs,
                max_replenish_prbs: deadline.max_replenish_prbs,
                over: deadline.over.clone().into(),
            }),
            _ => {
                return Err(refused(
                    "a slice has exactly one of `share_percent`, `rate`, `positions`, `on_demand` and `deadline`",
                ));
            }
        };
        if let Some(algorithm) = algorithm.filter(|algorithm| *algorithm != parameters.algorithm()) {
            return Err(refused(&format!("{algorithm} has no slices of that kind")));
        }
        let label = name(&self.label, "label")?;
        Ok(Slice { id, label, ue_scheduler: name(&self.ue_scheduler, "ue_scheduler")?, parameters })
    }
}

/// Returns the algorithm of a scheduler's name.
fn known(scheduler: &str) -> Option<Algorithm> {
    match scheduler {
        NVS | NVS_PARTITION => Some(Algorithm::Nvs),
        "STATIC" => Some(Algorithm::Static),
        "SCN19" => Some(Algorithm::Scn19),
        "EDF" => Some(Algorithm::Edf),
        _ => None,
    }
}

/// Returns the scheduler that a direction needs for its first slices, of that algorithm; empty if it needs no change.
pub(super) fn scheduler_for(existing: &DirectionSlices<'_>, algorithm: Algorithm) -> PrintableString<'static> {
    match known(&existing.scheduler) {
        Some(other) if other != algorithm && existing.slices.is_empty() => match algorithm {
            Algorithm::Nvs => PrintableString::literal(NVS),
            Algorithm::Static => PrintableString::literal("STATIC"),
            Algorithm::Scn19 => PrintableString::literal("SCN19"),
            Algorithm::Edf => PrintableString::literal("EDF"),
        },
        _ => PrintableString::literal(""),
    }
}

fn name(text: &str, field: &str) -> Result<PrintableString<'static>, Problem> {
    let is_plain = text.len() <= MAX_NAME && text.bytes().all(|octet| matches!(octet, b' '..=b'~'));
    let name = PrintableString::try_from(text.to_owned()).ok().filter(|_| is_plain);
    name.ok_or_else(|| {
        Problem::unprocessable(format!("{field}: a name has at most {MAX_NAME} printable ASCII characters"))
            .with("at", field)
    })
}

/// A share has seven significant digits; further ones are rounding errors.
fn percent(share: f32) -> f32 {
    ((f64::from(share) * 1e7).round() / 1e5) as f32
}

fn share(percent: f32) -> f32 {
    (f64::from(percent) / 100.0) as f32
}
