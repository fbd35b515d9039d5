//! `deployment`: a preset layout of sites.

use radio::phy::{DeploymentScenario as Environment, Layout};

use crate::scenario::DeploymentScenario;
use settings::{Error, Table, TableKeys};

pub const DEPLOYMENT: TableKeys = TableKeys {
    name: "[deployment]",
    keys: &["preset", "inter_site_m", "wrap_around", "min_distance_m", "site_correlation"],
};

/// A preset: how many rings of hexagons, or an office.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Preset {
    Hexagons { rings: u8 },
    Office,
}

const PRESETS: [(&str, Preset); 3] =
    [("hex7", Preset::Hexagons { rings: 1 }), ("hex19", Preset::Hexagons { rings: 2 }), ("indoor", Preset::Office)];

/// Reads the deployment, as the name of a preset or a table. `environment` is the propagation of the file's cells, if it is given.
pub fn deployment(top: &Table<'_>, environment: Option<Environment>) -> Result<DeploymentScenario, Error> {
    let default = DeploymentScenario::default();
    if !top.contains("deployment") {
        return Ok(default);
    }
    if top.is_text("deployment") {
        let preset = top.choice("deployment", &PRESETS)?.unwrap_or(Preset::Office);
        return Ok(of_preset(preset, environment, None));
    }
    let Some(table) = top.table("deployment", &DEPLOYMENT)? else { return Ok(default) };
    let preset = table.choice("preset", &PRESETS)?;
    let preset = preset.ok_or_else(|| table.missing("preset", "one of hex7, hex19, indoor"))?;
    if let Some(key) = ["inter_site_m", "wrap_around"].into_iter().find(|key| table.contains(key))
        && preset == Preset::Office
    {
        return Err(table.invalid(key, "requires the preset \"hex7\" or \"hex19\""));
    }
    let inter_site_m = table.number("inter_site_m", 10.0..=100_000.0)?;
    let mut deployment = of_preset(preset, environment, inter_site_m);
    deployment.wrap_around = table.boolean("wrap_around")?.unwrap_or(deployment.wrap_around);
    let least_m = table.number("min_distance_m", 0.0..=10_000.0)?;
    deployment.min_distance_m = least_m.unwrap_or(deployment.min_distance_m);
    if let Some(Layout::Hexagons { inter_site_m, .. }) = deployment.layout
        && deployment.min_distance_m >= inter_site_m / 2.0
    {
        return Err(table.invalid_table(format!(
            "min_distance_m is {}: must be below half the inter-site distance, {}",
            deployment.min_distance_m,
            inter_site_m / 2.0
        )));
    }
    let correlation = table.number("site_correlation", 0.0..=1.0)?;
    deployment.site_correlation = correlation.unwrap_or(deployment.site_correlation);
    Ok(deployment)
}

/// A preset with its defaults (TR 38.901 tables 7.2-1 to 7.2-3).
fn of_preset(preset: Preset, environment: Option<Environment>, inter_site_m: Option<f64>) -> DeploymentScenario {
    let (default_m, min_distance_m) = match environment.unwrap_or_default() {
        Environment::UrbanMicro => (200.0, 10.0),
        Environment::RuralMacro => (1732.0, 35.0),
        _ => (500.0, 35.0),
    };
    let default = DeploymentScenario::default();
    match preset {
        Preset::Hexagons { rings } => DeploymentScenario {
            layout: Some(Layout::Hexagons { rings, inter_site_m: inter_site_m.unwrap_or(default_m) }),
            wrap_around: rings > 1,
            min_distance_m,
            ..default
        },
        Preset::Office => DeploymentScenario { layout: Some(Layout::Office), min_distance_m: 0.0, ..default },
    }
}
