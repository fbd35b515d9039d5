//! The sites of a scenario's cells, and the places of its UEs.

use std::sync::Arc;

use radio::phy::{
    Antenna, Area, Deployment, Geometry, GeometryError, Layout, MobileUe, Motion, Multipath, Position, Propagation,
    Site, UeRadio,
};
use radio::{Network, Random};

use super::{CellScenario, ChannelScenario, Scenario, UeScenario};

/// The largest distance of a random initial position from the cell, in metres.
const NEAR_M: f64 = 450.0;
/// The margin around all cells within which UEs move, in metres.
const MARGIN_M: f64 = 500.0;

/// Antenna and transmitter of a cell, and the propagation to its UEs.
#[derive(Clone, Debug, PartialEq)]
pub struct SiteScenario {
    /// Transmit power over the whole carrier. Default: 46.
    pub power_dbm: f64,
    /// Antenna height. Default: 25.
    pub height_m: f64,
    /// Gain of an antenna element at its peak. Default: 8.
    pub gain_db: f64,
    /// The pattern of the antenna. Default: omnidirectional.
    pub antenna: Antenna,
    /// The propagation. Default: UMa without line of sight.
    pub propagation: Propagation,
    /// The fast fading. Default: flat.
    pub multipath: Multipath,
}

impl Default for SiteScenario {
    fn default() -> Self {
        SiteScenario {
            power_dbm: 46.0,
            height_m: 25.0,
            gain_db: 8.0,
            antenna: Antenna::default(),
            propagation: Propagation::default(),
            multipath: Multipath::default(),
        }
    }
}

/// What the sites of a scenario have in common.
#[derive(Clone, Debug, PartialEq)]
pub struct DeploymentScenario {
    /// The layout of a preset, whose cells are those of the scenario. Default: none; the cells have positions of their own.
    pub layout: Option<Layout>,
    /// Whether a hexagonal layout repeats over the whole plane. Default: no.
    pub wrap_around: bool,
    /// The correlation of the shadowing of two masts. Default: 0.5.
    pub site_correlation: f64,
    /// The shortest distance of a drawn place from the site of its hexagon. Default: 35.
    pub min_distance_m: f64,
}

impl Default for DeploymentScenario {
    fn default() -> Self {
        DeploymentScenario { layout: None, wrap_around: false, site_correlation: 0.5, min_distance_m: 35.0 }
    }
}

impl DeploymentScenario {
    /// The deployment of the sites.
    pub(super) fn of_sites(&self, sites: Arc<[Site]>, seed: u64) -> Result<Deployment, GeometryError> {
        let deployment = Deployment::new(sites, seed).with_site_correlation(self.site_correlation)?;
        let shifts = self.layout.filter(|_| self.wrap_around).map_or(Vec::new(), |layout| layout.shifts());
        Ok(deployment.with_wrap_around(&shifts))
    }
}

/// The site of a cell.
fn site(cell: &CellScenario, grid: &radio::phy::Grid) -> Site {
    let SiteScenario { power_dbm, height_m, gain_db, antenna, propagation, multipath } = cell.site.clone();
    Site { power_dbm, height_m, gain_db, antenna, propagation, multipath, ..Site::new(grid, cell.position) }
}

impl Scenario {
    /// The sites of the cells of a network.
    pub(super) fn sites_of(&self, network: &Network) -> Result<Deployment, GeometryError> {
        let sites = self.cells.iter().enumerate();
        let sites = sites.map(|(at, cell)| site(cell, network.cell(at).grid())).collect();
        self.deployment.of_sites(sites, self.seed)
    }

    /// The sites of the cells, from their carriers.
    #[cfg(feature = "scenario")]
    pub(super) fn sites(&self) -> Result<Deployment, super::ScenarioError> {
        use super::ScenarioError;
        let site = |(number, cell): (usize, &CellScenario)| {
            let grid = cell.radio.carrier.check().map_err(|error| ScenarioError::Carrier(number, error))?;
            Ok(site(cell, &grid))
        };
        let sites = self.cells.iter().enumerate().map(site).collect::<Result<_, _>>()?;
        self.deployment.of_sites(sites, self.seed).map_err(ScenarioError::Deployment)
    }

    /// The channel of a UE by its position.
    pub(super) fn geometry(
        &self,
        ue: &UeScenario,
        deployment: &Deployment,
        random: &mut Random,
    ) -> Result<Geometry, GeometryError> {
        let (mobile_ue, radio) = match &ue.channel {
            ChannelScenario::Geometry { position, motion, radio } => {
                (self.mobile_ue(ue.cell, *position, *motion, random)?, radio)
            }
            ChannelScenario::Track { track, radio } => (MobileUe::on_track(track.clone()), radio),
            _ => (self.mobile_ue(ue.cell, None, Motion::Still, random)?, &UeRadio::default()),
        };
        Geometry::new(deployment.clone(), ue.cell, radio.clone(), mobile_ue, random)
    }

    /// A UE that moves in the area of the layout; without a layout, one with a given position among all cells, one without near
    /// its own.
    fn mobile_ue(
        &self,
        cell: usize,
        position: Option<Position>,
        motion: Motion,
        random: &mut Random,
    ) -> Result<MobileUe, GeometryError> {
        let own = self.cells[cell].position;
        let near = |m: f64| Area {
            min: Position { x_m: own.x_m - m, y_m: own.y_m - m },
            max: Position { x_m: own.x_m + m, y_m: own.y_m + m },
        };
        let area = match (self.deployment.layout, position) {
            (Some(layout), _) => layout.area(),
            (None, Some(_)) => self.cells.iter().fold(near(MARGIN_M), |area, cell| Area {
                min: Position {
                    x_m: area.min.x_m.min(cell.position.x_m - MARGIN_M),
                    y_m: area.min.y_m.min(cell.position.y_m - MARGIN_M),
                },
                max: Position {
                    x_m: area.max.x_m.max(cell.position.x_m + MARGIN_M),
                    y_m: area.max.y_m.max(cell.position.y_m + MARGIN_M),
                },
            }),
            (None, None) => near(NEAR_M),
        };
        let position = position.unwrap_or_else(|| {
            // uniform over a disk
            let (distance_m, angle) = (NEAR_M * random.uniform().sqrt(), random.uniform() * std::f64::consts::TAU);
            Position { x_m: own.x_m + distance_m * angle.cos(), y_m: own.y_m + distance_m * angle.sin() }
        });
        MobileUe::new(area, position, motion)
    }
}
