//! Antenna patterns of base stations (TR 38.901 7.3).

use super::site::{GeometryError, within};

/// The half-power beam width of an element in both cuts, in degrees.
const BEAM_DEG: f64 = 65.0;
/// The most attenuation of an element relative to its peak, in each cut and in total; also the depth to which the nulls between the
/// lobes of an array are filled.
const MOST_ATTENUATION_DB: f64 = 30.0;
/// The distance of the elements of an array, in wavelengths.
const SPACING: f64 = 0.5;

/// The directional pattern of a base station's antenna.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Antenna {
    /// The same gain in all directions.
    #[default]
    Omnidirectional,
    /// A sector of a site.
    Sector(SectorAntenna),
}

/// A sector antenna: elements with the pattern of TR 38.901 table 7.3-1, one above the other.
///
/// The gain of an element at its peak is that of the site; an array of `vertical_elements` adds 10 log10 of their number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SectorAntenna {
    /// The direction of the main lobe: 0 is north, 90 east; -360 to 360.
    pub azimuth_deg: f64,
    /// How far the antenna is inclined below the horizon, -90 to 90. It turns the whole pattern (TR 38.901 7.1.3).
    pub mechanical_tilt_deg: f64,
    /// How far the phases of the elements steer the main lobe below the antenna's own horizon, -90 to 90.
    pub electrical_tilt_deg: f64,
    /// Elements of the vertical array, half a wavelength apart: 1 to 64.
    pub vertical_elements: u8,
}

impl Default for SectorAntenna {
    fn default() -> Self {
        SectorAntenna { azimuth_deg: 0.0, mechanical_tilt_deg: 0.0, electrical_tilt_deg: 0.0, vertical_elements: 1 }
    }
}

impl SectorAntenna {
    /// Validates all fields.
    pub(super) fn check(&self) -> Result<(), GeometryError> {
        within("azimuth_deg", self.azimuth_deg, -360.0, 360.0, "-360 to 360")?;
        within("mechanical_tilt_deg", self.mechanical_tilt_deg, -90.0, 90.0, "-90 to 90")?;
        within("electrical_tilt_deg", self.electrical_tilt_deg, -90.0, 90.0, "-90 to 90")?;
        within("vertical_elements", self.vertical_elements.into(), 1.0, 64.0, "1 to 64")
    }
}

/// A direction from an antenna, as a unit vector.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Heading {
    pub east: f64,
    pub north: f64,
    pub up: f64,
}

/// A pattern with its trigonometric functions evaluated.
#[derive(Clone, Copy, Debug)]
pub(super) enum Pattern {
    Omnidirectional,
    Sector { azimuth: (f64, f64), tilt: (f64, f64), steered_up: f64, elements: u8 },
}

impl Pattern {
    pub fn new(antenna: &Antenna) -> Self {
        match antenna {
            Antenna::Omnidirectional => Pattern::Omnidirectional,
            Antenna::Sector(sector) => Pattern::Sector {
                azimuth: sector.azimuth_deg.to_radians().sin_cos(),
                tilt: sector.mechanical_tilt_deg.to_radians().sin_cos(),
                steered_up: -sector.electrical_tilt_deg.to_radians().sin(),
                elements: sector.vertical_elements,
            },
        }
    }

    /// The gain in a direction relative to the peak of one element, in dB: at most 10 log10 of the number of elements.
    pub fn gain_db(&self, to: &Heading) -> f64 {
        let Pattern::Sector { azimuth: (sin, cos), tilt: (tilt_sin, tilt_cos), steered_up, elements } = *self else {
            return 0.0;
        };
        let along = to.east * sin + to.north * cos;
        let across = to.east * cos - to.north * sin;
        // into the coordinates of the inclined antenna
        let up = along * tilt_sin + to.up * tilt_cos;
        let along = along * tilt_cos - to.up * tilt_sin;
        let vertical = cut_db(up.clamp(-1.0, 1.0).asin().to_degrees());
        let horizontal = cut_db(across.atan2(along).to_degrees());
        (vertical + horizontal).max(-MOST_ATTENUATION_DB) + array_db(elements, up - steered_up)
    }
}

/// A cut of an element's pattern, relative to the peak.
fn cut_db(off_deg: f64) -> f64 {
    -(12.0 * (off_deg / BEAM_DEG).powi(2)).min(MOST_ATTENUATION_DB)
}

/// The gain of an array with uniform weights over one element; `off` is the difference of the sines of the elevation and the
/// steering angle.
fn array_db(elements: u8, off: f64) -> f64 {
    if elements == 1 {
        return 0.0;
    }
    let count = f64::from(elements);
    let half = std::f64::consts::PI * SPACING * off;
    let one = half.sin();
    let all = if one.abs() < 1e-9 { count } else { (count * half).sin() / one };
    let floor = count * 10.0_f64.powf(-MOST_ATTENUATION_DB / 10.0);
    10.0 * (all * all / count).max(floor).log10()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heading(azimuth_deg: f64, elevation_deg: f64) -> Heading {
        let (sin, cos) = azimuth_deg.to_radians().sin_cos();
        let (up, ground) = elevation_deg.to_radians().sin_cos();
        Heading { east: ground * sin, north: ground * cos, up }
    }

    fn gain_db(antenna: SectorAntenna, azimuth_deg: f64, elevation_deg: f64) -> f64 {
        Pattern::new(&Antenna::Sector(antenna)).gain_db(&heading(azimuth_deg, elevation_deg))
    }

    #[test]
    fn element_has_the_published_cuts() {
        let east = SectorAntenna { azimuth_deg: 90.0, ..SectorAntenna::default() };
        for (azimuth_deg, elevation_deg, expected_db) in [
            (90.0, 0.0, 0.0),
            // half the beam width
            (122.5, 0.0, -3.0),
            (57.5, 0.0, -3.0),
            (90.0, 32.5, -3.0),
            (90.0, -32.5, -3.0),
            // 12 (60/65)²
            (150.0, 0.0, -10.2249),
            (90.0, -60.0, -10.2249),
            // the back, and each limit
            (270.0, 0.0, -30.0),
            (200.0, 0.0, -30.0),
            (90.0, -90.0, -23.0059),
        ] {
            let gain_db = gain_db(east, azimuth_deg, elevation_deg);
            assert!((gain_db - expected_db).abs() < 1e-3, "{azimuth_deg} {elevation_deg}: {gain_db}");
        }
        // azimuth and elevation add up
        let both_db = gain_db(SectorAntenna::default(), 32.5, -32.5);
        assert!((both_db + 6.0).abs() < 1e-9, "{both_db}");
        assert_eq!(Pattern::new(&Antenna::Omnidirectional).gain_db(&heading(17.0, -80.0)), 0.0);
    }

    #[test]
    fn mechanical_tilt_turns_the_pattern() {
        let tilted = SectorAntenna { mechanical_tilt_deg: 10.0, ..SectorAntenna::default() };
        assert!(gain_db(tilted, 0.0, -10.0).abs() < 1e-9);
        assert!((gain_db(tilted, 0.0, -42.5) + 3.0).abs() < 1e-9);
        // to the side the inclined antenna looks at its own horizon, and behind it looks up
        assert!((gain_db(tilted, 90.0, 0.0) - gain_db(SectorAntenna::default(), 90.0, 0.0)).abs() < 1e-9);
        assert!((gain_db(tilted, 180.0, 10.0) + 30.0).abs() < 1e-9);
    }

    #[test]
    fn electrical_tilt_steers_the_array() {
        let antenna = SectorAntenna { vertical_elements: 10, electrical_tilt_deg: 12.0, ..SectorAntenna::default() };
        // 10 dB of array gain, and the element 12 degrees below its horizon
        let peak_db = gain_db(antenna, 0.0, -12.0);
        assert!((peak_db - (10.0 - 12.0 * (12.0_f64 / 65.0).powi(2))).abs() < 1e-9, "{peak_db}");
        // the half-power beam width of ten elements is about 102 / 10 degrees
        let side_db = gain_db(antenna, 0.0, -17.2);
        assert!((side_db - peak_db + 3.0).abs() < 0.5, "{side_db} {peak_db}");
        // the first null at sine 12° - 2/10 is filled to 30 dB below the peak of the array
        let null_deg = (0.2 - 12.0_f64.to_radians().sin()).asin().to_degrees();
        let null_db = gain_db(antenna, 0.0, null_deg);
        assert!((null_db - (10.0 - 30.0)).abs() < 0.01, "{null_db}");
    }

    #[test]
    fn invalid_antennas_are_rejected() {
        let ok = SectorAntenna::default();
        assert_eq!(ok.check(), Ok(()));
        for (wrong, expected) in [
            (SectorAntenna { azimuth_deg: 361.0, ..ok }, "azimuth_deg is 361: must be -360 to 360"),
            (SectorAntenna { mechanical_tilt_deg: f64::NAN, ..ok }, "mechanical_tilt_deg is NaN: must be -90 to 90"),
            (SectorAntenna { electrical_tilt_deg: -91.0, ..ok }, "electrical_tilt_deg is -91: must be -90 to 90"),
            (SectorAntenna { vertical_elements: 0, ..ok }, "vertical_elements is 0: must be 1 to 64"),
        ] {
            assert_eq!(wrong.check().unwrap_err().to_string(), expected);
        }
    }
}
