//! Sites and terminals: antennas, power and noise.

use std::fmt;

use super::subband::subband_prbs;
use super::{Antenna, Area, Fading, Grid, Indoors, Multipath, Position, Propagation};

/// Thermal noise at 290 K, in one hertz.
const NOISE_DBM_PER_HZ: f64 = -174.0;

/// The site of a cell. Default values are those of [`Site::new`].
#[derive(Clone, Debug, PartialEq)]
pub struct Site {
    /// The position.
    pub position: Position,
    /// Antenna height. Default: 25.
    pub height_m: f64,
    /// Transmit power over the whole carrier. Default: 46.
    pub power_dbm: f64,
    /// Gain of an antenna element at its peak, in both directions. Default: 8.
    pub gain_db: f64,
    /// The pattern of the antenna. Default: omnidirectional.
    pub antenna: Antenna,
    /// Receive diversity gain in the uplink, relative to that of the UE in the downlink. Default: 3.
    pub uplink_gain_db: f64,
    /// Noise figure of the base station's receiver. Default: 5.
    pub noise_figure_db: f64,
    /// Noise rise at the UE from cells outside the model; those of the model interfere by themselves. Default: 0.
    pub noise_rise_db: f64,
    /// Noise rise at the base station from UEs outside the model. Default: 0.
    pub uplink_noise_rise_db: f64,
    /// The propagation to the UEs.
    pub propagation: Propagation,
    /// The fast fading of the channels to the UEs. Default: flat.
    pub multipath: Multipath,
    /// The carrier frequency.
    pub frequency_mhz: f64,
    /// PRBs of the carrier.
    pub prbs: u16,
    /// The subcarrier spacing.
    pub subcarrier_hz: u32,
    /// PRBs of a subband in CQI reports; 0: no reports on subbands.
    pub subband_prbs: u16,
}

impl Site {
    /// A site with default values for a carrier.
    #[must_use]
    pub fn new(grid: &Grid, position: Position) -> Self {
        Site {
            position,
            height_m: 25.0,
            power_dbm: 46.0,
            gain_db: 8.0,
            antenna: Antenna::default(),
            uplink_gain_db: 3.0,
            noise_figure_db: 5.0,
            noise_rise_db: 0.0,
            uplink_noise_rise_db: 0.0,
            propagation: Propagation::default(),
            multipath: Multipath::default(),
            frequency_mhz: grid.carrier().frequency_mhz,
            prbs: grid.prbs(),
            subcarrier_hz: grid.subcarrier_hz(),
            subband_prbs: subband_prbs(grid),
        }
    }

    /// Transmit power per resource element, before the antenna.
    pub(super) fn element_dbm(&self) -> f64 {
        self.power_dbm - 10.0 * (12.0 * f64::from(self.prbs)).log10()
    }

    /// Thermal noise per resource element.
    pub(super) fn noise_dbm(&self) -> f64 {
        NOISE_DBM_PER_HZ + 10.0 * f64::from(self.subcarrier_hz).log10()
    }

    /// Validates all fields.
    pub(super) fn check(&self) -> Result<(), GeometryError> {
        let [subcarrier_hz, prbs] = [self.subcarrier_hz.into(), self.prbs.into()];
        within("x_m", self.position.x_m, -1e6, 1e6, "-1e6 to 1e6")?;
        within("y_m", self.position.y_m, -1e6, 1e6, "-1e6 to 1e6")?;
        within("height_m", self.height_m, 1.5, 150.0, "1.5 to 150")?;
        within("power_dbm", self.power_dbm, -50.0, 100.0, "-50 to 100")?;
        within("gain_db", self.gain_db, -60.0, 60.0, "-60 to 60")?;
        within("uplink_gain_db", self.uplink_gain_db, -60.0, 60.0, "-60 to 60")?;
        within("noise_figure_db", self.noise_figure_db, 0.0, 60.0, "0 to 60")?;
        within("noise_rise_db", self.noise_rise_db, 0.0, 60.0, "0 to 60")?;
        within("uplink_noise_rise_db", self.uplink_noise_rise_db, 0.0, 60.0, "0 to 60")?;
        if let Antenna::Sector(sector) = &self.antenna {
            sector.check()?;
        }
        self.multipath.check()?;
        within("frequency_mhz", self.frequency_mhz, 410.0, 7125.0, "410 to 7125")?;
        within("prbs", prbs, 1.0, 273.0, "1 to 273")?;
        within("subcarrier_hz", subcarrier_hz, 15_000.0, 60_000.0, "15000, 30000 or 60000")
    }
}

/// The radio parameters of a UE.
#[derive(Clone, Debug, PartialEq)]
pub struct UeRadio {
    /// Height above ground. Default: 1.5.
    pub height_m: f64,
    /// The building around it. Default: none.
    pub indoors: Option<Indoors>,
    /// Maximum transmit power P_CMAX over all PRBs; 23 dBm is power class 3 (TS 38.101-1 6.2.1). Default: 23.
    pub power_dbm: f64,
    /// Noise figure of the receiver. Default: 7.
    pub noise_figure_db: f64,
    /// Fading.
    pub fading: Fading,
}

impl Default for UeRadio {
    fn default() -> Self {
        UeRadio { height_m: 1.5, indoors: None, power_dbm: 23.0, noise_figure_db: 7.0, fading: Fading::default() }
    }
}

impl UeRadio {
    /// Validates all fields.
    pub(super) fn check(&self) -> Result<(), GeometryError> {
        within("height_m", self.height_m, 1.0, 22.5, "1 to 22.5")?;
        self.indoors.as_ref().map_or(Ok(()), Indoors::check)?;
        within("power_dbm", self.power_dbm, -50.0, 50.0, "-50 to 50")?;
        within("noise_figure_db", self.noise_figure_db, 0.0, 60.0, "0 to 60")?;
        within("branches", self.fading.branches.into(), 1.0, 8.0, "1 to 8")?;
        within("min_speed_m_per_s", self.fading.min_speed_m_per_s, 0.0, 200.0, "0 to 200")
    }
}

/// An invalid site, UE or motion: misuse by the caller.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum GeometryError {
    /// The corners of the area are in the wrong order, NaN, or more than 1000 km away.
    Area(Area),
    /// The initial position is outside the area.
    Outside(Position),
    /// A value is NaN or out of range.
    Value {
        /// The field.
        field: &'static str,
        /// Its value.
        value: f64,
        /// The valid values.
        allowed: &'static str,
    },
}

impl fmt::Display for GeometryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GeometryError::Area(Area { min, max }) => write!(
                f,
                "area is from ({}, {}) to ({}, {}): must be from a corner in the south-west to one in the north-east, each \
                 coordinate within -1e6 to 1e6",
                min.x_m, min.y_m, max.x_m, max.y_m
            ),
            GeometryError::Outside(Position { x_m, y_m }) => {
                write!(f, "position is ({x_m}, {y_m}): must be within the area")
            }
            GeometryError::Value { field, value, allowed } => write!(f, "{field} is {value}: must be {allowed}"),
        }
    }
}

impl std::error::Error for GeometryError {}

/// Checks the range of a value, which may be NaN.
pub(super) fn within(
    field: &'static str,
    value: f64,
    least: f64,
    most: f64,
    allowed: &'static str,
) -> Result<(), GeometryError> {
    match (least..=most).contains(&value) {
        true => Ok(()),
        false => Err(GeometryError::Value { field, value, allowed }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phy::Carrier;

    #[test]
    fn power_is_spread_over_all_resource_elements() {
        let site = Site::new(&Carrier::default().check().unwrap(), Position::default());
        // 46 dBm over 1272 subcarriers
        assert!((site.element_dbm() - (46.0 - 31.045)).abs() < 0.001, "{}", site.element_dbm());
        assert!((site.noise_dbm() + 129.23).abs() < 0.01, "{}", site.noise_dbm());
        assert_eq!((site.check(), UeRadio::default().check()), (Ok(()), Ok(())));
    }

    #[test]
    fn invalid_sites_are_rejected() {
        let site = Site::new(&Carrier::default().check().unwrap(), Position::default());
        for (wrong, field) in [
            (Site { position: Position { x_m: f64::NAN, y_m: 0.0 }, ..site.clone() }, "x_m"),
            (Site { position: Position { x_m: 0.0, y_m: 1e7 }, ..site.clone() }, "y_m"),
            (Site { height_m: 1.4, ..site.clone() }, "height_m"),
            (Site { power_dbm: f64::INFINITY, ..site.clone() }, "power_dbm"),
            (Site { gain_db: 61.0, ..site.clone() }, "gain_db"),
            (Site { uplink_gain_db: -61.0, ..site.clone() }, "uplink_gain_db"),
            (Site { noise_figure_db: -1.0, ..site.clone() }, "noise_figure_db"),
            (Site { noise_rise_db: -1.0, ..site.clone() }, "noise_rise_db"),
            (Site { uplink_noise_rise_db: 61.0, ..site.clone() }, "uplink_noise_rise_db"),
            (Site { frequency_mhz: 3.6, ..site.clone() }, "frequency_mhz"),
            (Site { prbs: 0, ..site.clone() }, "prbs"),
            (Site { subcarrier_hz: 0, ..site }, "subcarrier_hz"),
        ] {
            let error = wrong.check().unwrap_err();
            assert!(matches!(error, GeometryError::Value { field: found, .. } if found == field), "{error}");
        }
        let error = Site { prbs: 300, ..Site::new(&Carrier::lte().check().unwrap(), Position::default()) }.check();
        assert_eq!(error.unwrap_err().to_string(), "prbs is 300: must be 1 to 273");
    }

    #[test]
    fn invalid_ue_radio_parameters_are_rejected() {
        let ok = UeRadio::default();
        let fading = Fading::default();
        for (wrong, field) in [
            (UeRadio { height_m: 0.9, ..ok.clone() }, "height_m"),
            (UeRadio { power_dbm: 51.0, ..ok.clone() }, "power_dbm"),
            (UeRadio { noise_figure_db: -0.1, ..ok.clone() }, "noise_figure_db"),
            (UeRadio { fading: Fading { branches: 0, ..fading }, ..ok.clone() }, "branches"),
            (UeRadio { fading: Fading { branches: 9, ..fading }, ..ok.clone() }, "branches"),
            (UeRadio { fading: Fading { min_speed_m_per_s: -1.0, ..fading }, ..ok }, "min_speed_m_per_s"),
        ] {
            let error = wrong.check().unwrap_err();
            assert!(matches!(error, GeometryError::Value { field: found, .. } if found == field), "{error}");
        }
    }
}
