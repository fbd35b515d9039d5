//! `[[cell.slice]]`: the initial slices of a cell, and the UEs in them.

use e2sm::slice::{DirectionSlices, NvsParameters, Parameters, Positions, Rate, Share, Slice, SliceConfiguration};
use per::{List, PrintableString};
use radio::mac::ue_scheduler;
use radio::phy::Grid;
use ran_functions::slice::{Direction, SliceResources, validate_slices};

use super::ue::{plmn, slice_differentiator};
use crate::control::slices::{ALGORITHMS, capacity};
use crate::scenario::{SliceRule, SlicingScenario};
use settings::{Error, Table, TableKeys};

pub const SLICE: TableKeys = TableKeys {
    name: "[[cell.slice]]",
    keys: &[
        "id",
        "label",
        "direction",
        "capacity_percent",
        "rate_mbps",
        "reference_mbps",
        "low",
        "high",
        "ue_scheduler",
        "plmn",
        "sst",
        "sd",
    ],
};

/// The most slices of a direction, which is the default of the SLICE function.
const MAX_SLICES: usize = 64;

/// Reads the slices of a cell.
pub fn slicing(table: &Table<'_>, grid: &Grid) -> Result<SlicingScenario, Error> {
    let scheduler = table.choice("slice_scheduler", &[("NVS", "NVS"), ("NVS-PARTITION", "NVS-PARTITION")])?;
    let tables = table.tables("slice", &SLICE, MAX_SLICES)?;
    if tables.is_empty() {
        return match scheduler {
            Some(_) => Err(table.invalid("slice_scheduler", "requires a [[cell.slice]]")),
            None => Ok(SlicingScenario::default()),
        };
    }
    let mut directions = [Vec::new(), Vec::new()];
    let mut rules = Vec::new();
    for table in &tables {
        let (slice, wanted) = slice(table)?;
        for direction in wanted {
            let slices = &mut directions[*direction as usize];
            slices.push(slice.clone());
            let resources = SliceResources {
                capacity: capacity(grid, *direction),
                algorithms: &ALGORITHMS,
                has_ue_scheduler: &|name| ue_scheduler(name).is_some(),
            };
            validate_slices(*direction, &resources, slices).map_err(|why| table.invalid_table(why))?;
        }
        if let Some(rule) = rule(table, slice.id, wanted)? {
            rules.push(rule);
        }
    }
    let is_fixed = matches!(directions.iter().flatten().next(), Some(Slice { parameters: Parameters::Static(_), .. }));
    if is_fixed && scheduler.is_some() {
        return Err(table.invalid("slice_scheduler", "not allowed for static slices"));
    }
    let scheduler = scheduler.unwrap_or(if is_fixed { "STATIC" } else { "NVS" });
    let [dl, ul] = directions.map(|slices| DirectionSlices {
        scheduler: PrintableString::literal(if slices.is_empty() { "" } else { scheduler }),
        slices: List::from(slices),
    });
    Ok(SlicingScenario { slices: SliceConfiguration { dl, ul }, rules })
}

fn slice(table: &Table<'_>) -> Result<(Slice<'static>, &'static [Direction]), Error> {
    let id = table.integer("id", 0..=4_294_967_294)?;
    let id = id.ok_or_else(|| table.missing("id", "the number of the slice"))?;
    const BOTH: &[Direction] = &Direction::BOTH;
    const DL: &[Direction] = &[Direction::Downlink];
    const UL: &[Direction] = &[Direction::Uplink];
    let directions = table.choice("direction", &[("both", BOTH), ("down", DL), ("up", UL)])?.unwrap_or(BOTH);
    let words = |key, otherwise: &'static str| {
        let text = table.text(key, "text")?.unwrap_or(otherwise).to_owned();
        let text = Some(text).filter(|text| text.len() <= 255).and_then(|text| PrintableString::try_from(text).ok());
        text.ok_or_else(|| table.invalid(key, "must be a PrintableString of ASN.1 with at most 255 characters"))
    };
    let ue_scheduler = table.choice("ue_scheduler", &[("RR", "RR"), ("PF", "PF"), ("MT", "MT")])?.unwrap_or("PF");
    let mbps = 0.0..=100_000.0;
    let share = table.number("capacity_percent", 0.0..=100.0)?;
    let rate = table.number("rate_mbps", mbps.clone())?;
    let reference = table.number("reference_mbps", mbps)?;
    let positions = (table.integer("low", 0..=1000)?, table.integer("high", 0..=1000)?);
    let parameters = match (share, rate, reference, positions) {
        (Some(percent), None, None, (None, None)) => {
            Parameters::Nvs(NvsParameters::Capacity(Share { reserved: (percent / 100.0) as f32 }))
        }
        (None, Some(rate), Some(reference), (None, None)) => {
            Parameters::Nvs(NvsParameters::Rate(Rate { required_mbps: rate as f32, reference_mbps: reference as f32 }))
        }
        (None, None, None, (Some(low), Some(high))) => Parameters::Static(Positions { low, high }),
        _ => {
            let why =
                "a slice requires either `capacity_percent`, or `rate_mbps` and `reference_mbps`, or `low` and `high`";
            return Err(table.invalid_table(why));
        }
    };
    let label = words("label", "")?;
    Ok((Slice { id, label, ue_scheduler: PrintableString::literal(ue_scheduler), parameters }, directions))
}

/// Reads the UEs of a slice, if they are given.
fn rule(table: &Table<'_>, slice: u32, directions: &[Direction]) -> Result<Option<SliceRule>, Error> {
    let plmn = plmn(table)?;
    let sst = table.integer("sst", 0..=255)?;
    let sd = slice_differentiator(table)?;
    if sd.is_some() && sst.is_none() {
        return Err(table.invalid("sd", "requires `sst`"));
    }
    if plmn.is_none() && sst.is_none() {
        return Ok(None);
    }
    let id_for = |direction| directions.contains(&direction).then_some(slice);
    Ok(Some(SliceRule { plmn, sst, sd, dl: id_for(Direction::Downlink), ul: id_for(Direction::Uplink) }))
}
