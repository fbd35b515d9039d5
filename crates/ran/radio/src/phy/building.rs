//! UEs in buildings: outdoor-to-indoor loss (TR 38.901 7.4.3).

use super::site::{GeometryError, within};

/// How much a building attenuates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Building {
    /// Plain glass and concrete (the low-loss model).
    #[default]
    LowLoss,
    /// Coated glass and concrete (the high-loss model).
    HighLoss,
}

/// A UE in a building.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Indoors {
    /// The kind of building.
    pub building: Building,
    /// The way of the waves within the building: 0 to 100.
    pub depth_m: f64,
    /// The deviation of the UE's penetration loss from the mean, in standard deviations.
    pub deviation: f64,
}

impl Indoors {
    /// Validates all fields.
    pub(super) fn check(&self) -> Result<(), GeometryError> {
        within("depth_m", self.depth_m, 0.0, 100.0, "0 to 100")?;
        within("deviation", self.deviation, -10.0, 10.0, "-10 to 10")
    }

    /// The loss in dB beyond that of the path outdoors: through the wall, within the building, and the deviation, at least 0.
    pub(super) fn loss_db(&self, frequency_ghz: f64) -> f64 {
        // table 7.4.3-1
        let (glass_db, coated_glass_db, concrete_db) =
            (2.0 + 0.2 * frequency_ghz, 23.0 + 0.3 * frequency_ghz, 5.0 + 4.0 * frequency_ghz);
        // table 7.4.3-2: the shares of the wall
        let (window, window_db, deviation_db) = match self.building {
            Building::LowLoss => (0.3, glass_db, 4.4),
            Building::HighLoss => (0.7, coated_glass_db, 6.5),
        };
        let passes = |db: f64| 10.0_f64.powf(-db / 10.0);
        let wall_db = 5.0 - 10.0 * (window * passes(window_db) + (1.0 - window) * passes(concrete_db)).log10();
        (wall_db + 0.5 * self.depth_m + deviation_db * self.deviation).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_are_those_of_the_formulas() {
        let loss_db = |building, depth_m, deviation, ghz| Indoors { building, depth_m, deviation }.loss_db(ghz);
        // 3.5 GHz: glass 2.7 dB, coated glass 24.05 dB, concrete 19 dB
        let low = 5.0 - 10.0 * (0.3 * 0.537_032 + 0.7 * 0.012_589_3_f64).log10();
        let high = 5.0 - 10.0 * (0.7 * 0.003_935_5 + 0.3 * 0.012_589_3_f64).log10();
        assert!((loss_db(Building::LowLoss, 0.0, 0.0, 3.5) - low).abs() < 1e-3 && (low - 12.697).abs() < 1e-2, "{low}");
        assert!(
            (loss_db(Building::HighLoss, 0.0, 0.0, 3.5) - high).abs() < 1e-3 && (high - 26.85).abs() < 0.01,
            "{high}"
        );
        assert!((loss_db(Building::LowLoss, 10.0, 1.0, 3.5) - low - 5.0 - 4.4).abs() < 1e-3);
        assert!((loss_db(Building::HighLoss, 10.0, -1.0, 3.5) - high - 5.0 + 6.5).abs() < 1e-3);
        assert_eq!(loss_db(Building::LowLoss, 0.0, -9.0, 3.5), 0.0);
        let wrong = Indoors { building: Building::LowLoss, depth_m: -1.0, deviation: 0.0 };
        assert_eq!(wrong.check().unwrap_err().to_string(), "depth_m is -1: must be 0 to 100");
    }
}
