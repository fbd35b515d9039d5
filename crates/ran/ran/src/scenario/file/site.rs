//! The keys of `[[cell]]` for its antenna, transmitter and propagation.

use radio::phy::{
    Antenna, DelayProfile, DeploymentScenario as Environment, Layout, LineOfSight, Multipath, Position, Propagation,
    SectorAntenna,
};

use crate::scenario::SiteScenario;
use settings::{Error, Table};

/// The words for the environments of TR 38.901 7.2.
const ENVIRONMENTS: [(&str, Environment); 5] = [
    ("uma", Environment::UrbanMacro),
    ("umi", Environment::UrbanMicro),
    ("rma", Environment::RuralMacro),
    ("inh-open", Environment::IndoorOpen),
    ("inh-mixed", Environment::IndoorMixed),
];

/// Reads the environment.
pub fn environment(table: &Table<'_>) -> Result<Option<Environment>, Error> {
    table.choice("propagation", &ENVIRONMENTS)
}

/// Reads the antenna and the propagation: one site for each sector.
pub fn sectors(table: &Table<'_>, layout: Option<Layout>) -> Result<Vec<SiteScenario>, Error> {
    let is_hexagonal = matches!(layout, Some(Layout::Hexagons { .. }));
    let default = if layout == Some(Layout::Office) { Environment::IndoorOpen } else { Environment::default() };
    let scenario = environment(table)?.unwrap_or(default);
    let words =
        [("never", LineOfSight::Never), ("always", LineOfSight::Always), ("probability", LineOfSight::ByProbability)];
    let default = if layout.is_some() { LineOfSight::ByProbability } else { LineOfSight::Never };
    let propagation =
        Propagation { scenario, line_of_sight: table.choice("line_of_sight", &words)?.unwrap_or(default) };
    let (power_dbm, height_m, gain_db) = match scenario {
        Environment::UrbanMacro => (46.0, 25.0, 8.0),
        Environment::UrbanMicro => (44.0, 10.0, 8.0),
        Environment::RuralMacro => (46.0, 35.0, 8.0),
        Environment::IndoorOpen | Environment::IndoorMixed => (24.0, 3.0, 5.0),
    };
    let site = SiteScenario {
        power_dbm: table.number("power_dbm", -50.0..=100.0)?.unwrap_or(power_dbm),
        height_m: table.number("height_m", 1.5..=150.0)?.unwrap_or(height_m),
        gain_db: table.number("antenna_gain_dbi", -60.0..=60.0)?.unwrap_or(gain_db),
        antenna: Antenna::Omnidirectional,
        propagation,
        multipath: multipath(table, scenario)?,
    };
    let count: u8 = table.integer("sectors", 1..=6)?.unwrap_or(if is_hexagonal { 3 } else { 1 });
    let azimuth_deg = table.number("azimuth_deg", -360.0..=360.0)?;
    let tilt_deg = table.number("tilt_deg", -90.0..=90.0)?;
    let electrical_tilt_deg = table.number("electrical_tilt_deg", -90.0..=90.0)?;
    let elements = table.integer("vertical_elements", 1..=64)?;
    let is_directional =
        count > 1 || azimuth_deg.is_some() || tilt_deg.is_some() || electrical_tilt_deg.is_some() || elements.is_some();
    if !is_directional {
        return Ok(vec![site]);
    }
    let (default_elements, default_tilt_deg) = match (is_hexagonal, scenario) {
        (true, Environment::UrbanMacro | Environment::UrbanMicro) => (10, 12.0),
        (true, Environment::RuralMacro) => (10, 4.0),
        _ => (1, 0.0),
    };
    let vertical_elements = elements.unwrap_or(default_elements);
    if vertical_elements == 1 && electrical_tilt_deg.is_some_and(|deg| deg != 0.0) {
        return Err(table.invalid("electrical_tilt_deg", "requires `vertical_elements` of 2 or more"));
    }
    let electrical_tilt_deg = electrical_tilt_deg.unwrap_or(if vertical_elements > 1 { default_tilt_deg } else { 0.0 });
    let first_deg = azimuth_deg.unwrap_or(if is_hexagonal { 30.0 } else { 0.0 });
    let sector = |number: u8| {
        let turned_deg = first_deg + 360.0 * f64::from(number) / f64::from(count);
        let antenna = SectorAntenna {
            azimuth_deg: if turned_deg > 360.0 { turned_deg - 360.0 } else { turned_deg },
            mechanical_tilt_deg: tilt_deg.unwrap_or(0.0),
            electrical_tilt_deg,
            vertical_elements,
        };
        SiteScenario { antenna: Antenna::Sector(antenna), ..site.clone() }
    };
    Ok((0..count).map(sector).collect())
}

/// Reads the fast fading.
fn multipath(table: &Table<'_>, environment: Environment) -> Result<Multipath, Error> {
    // of the values of TR 38.901 table 7.7.3-1
    let delay_spread_ns = match environment {
        Environment::UrbanMacro => 300.0,
        Environment::UrbanMicro => 100.0,
        Environment::RuralMacro | Environment::IndoorOpen | Environment::IndoorMixed => 30.0,
    };
    let given_ns = table.number("delay_spread_ns", 1.0..=5000.0)?;
    let delay_line = |profile| Multipath::DelayLine { profile, delay_spread_ns: given_ns.unwrap_or(delay_spread_ns) };
    let words = [
        ("flat", Multipath::Flat),
        ("none", Multipath::None),
        ("tdl-a", delay_line(DelayProfile::A)),
        ("tdl-b", delay_line(DelayProfile::B)),
        ("tdl-c", delay_line(DelayProfile::C)),
    ];
    let multipath = table.choice("fading", &words)?.unwrap_or_default();
    match multipath {
        Multipath::DelayLine { .. } => Ok(multipath),
        _ if given_ns.is_some() => {
            Err(table.invalid("delay_spread_ns", "requires the fading \"tdl-a\", \"tdl-b\" or \"tdl-c\""))
        }
        _ => Ok(multipath),
    }
}

/// Reads the positions of the sites: those of the layout, or a row.
pub fn positions(table: &Table<'_>, layout: Option<Layout>, most: usize) -> Result<Vec<Position>, Error> {
    if let Some(layout) = layout {
        if let Some(key) = ["count", "apart_m", "x_m", "y_m"].into_iter().find(|key| table.contains(key)) {
            return Err(table.invalid(key, "the preset of `deployment` determines the positions"));
        }
        return Ok(layout.sites());
    }
    let far = -1e6..=1e6;
    let x_m = table.number("x_m", far.clone())?.unwrap_or(0.0);
    let y_m = table.number("y_m", far)?.unwrap_or(0.0);
    let apart_m = table.number("apart_m", 0.0..=100_000.0)?.unwrap_or(500.0);
    let count = table.integer("count", 1..=most as i64)?.unwrap_or(1_u32);
    Ok((0..count).map(|number| Position { x_m: x_m + apart_m * f64::from(number), y_m }).collect())
}
