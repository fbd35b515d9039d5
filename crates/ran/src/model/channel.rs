//! A UE's radio channel: path loss by distance, shadowing and fading that remember their past.

use super::random::Random;

/// Carrier frequency in GHz: band n78.
const CARRIER_GHZ: f64 = 3.5;
/// Where UEs are: metres from the base station.
const NEAREST_M: f64 = 35.0;
const FARTHEST_M: f64 = 450.0;
/// The base station's power on one resource element of 30 kHz, with its antennas' gain, in dBm.
const TRANSMIT_DBM: f64 = 46.0 - 31.0 + 8.0;
/// What a UE sends on one at most, with the gain of twice the antennas: 23 dBm over 10 PRBs.
const UPLINK_TRANSMIT_DBM: f64 = 23.0 - 20.8 + 11.0;
/// Thermal noise on one, the receivers' own, and what neighbour cells add: in dBm.
const NOISE_DBM: f64 = -174.0 + 44.8;
const DOWNLINK_NOISE_DBM: f64 = NOISE_DBM + 7.0 + 6.0;
const UPLINK_NOISE_DBM: f64 = NOISE_DBM + 5.0 + 3.0;
/// Uplink power control aims at this SINR and no more.
const UPLINK_TARGET_DB: f64 = 20.0;
/// Standard deviation and memory of shadowing (TS 38.901 table 7.4.1-1 and 7.5-6, urban macro) ...
const SHADOW_DB: f64 = 6.0;
const SHADOW_DISTANCE_M: f64 = 50.0;
/// ... and of what fading leaves over 40 MHz.
const FADING_DB: f64 = 2.5;
const FADING_DISTANCE_M: f64 = 0.3;
/// How fast UEs move: walking to driving.
const SLOWEST_M_PER_S: f64 = 0.8;
const FASTEST_M_PER_S: f64 = 9.0;

/// A first-order autoregressive process of mean 0.
#[derive(Clone, Debug)]
struct Memory {
    value: f64,
    keep: f64,
    renew: f64,
}

impl Memory {
    fn new(deviation: f64, keep: f64, random: &mut Random) -> Self {
        Memory { value: deviation * random.normal(), keep, renew: deviation * (1.0 - keep * keep).sqrt() }
    }

    fn step(&mut self, random: &mut Random) {
        self.value = self.keep * self.value + self.renew * random.normal();
    }
}

/// A UE's channel.
#[derive(Clone, Debug)]
pub struct Channel {
    path_loss_db: f64,
    shadow: Memory,
    fading: Memory,
}

impl Channel {
    pub fn new(step_s: f64, random: &mut Random) -> Self {
        // uniform over the area, not over the distance
        let distance_m = NEAREST_M + (FARTHEST_M - NEAREST_M) * random.uniform().sqrt();
        let speed = SLOWEST_M_PER_S + (FASTEST_M_PER_S - SLOWEST_M_PER_S) * random.uniform().powi(2);
        let keep = |distance_m: f64| (-speed * step_s / distance_m).exp();
        Channel {
            path_loss_db: path_loss_db(distance_m),
            shadow: Memory::new(SHADOW_DB, keep(SHADOW_DISTANCE_M), random),
            fading: Memory::new(FADING_DB, keep(FADING_DISTANCE_M), random),
        }
    }

    pub fn step(&mut self, random: &mut Random) {
        self.shadow.step(random);
        self.fading.step(random);
    }

    /// Received power of the reference signals, in dBm.
    pub fn rsrp_dbm(&self) -> f64 {
        TRANSMIT_DBM - self.path_loss_db - self.shadow.value
    }

    /// The same of what the UE sends.
    pub fn uplink_rsrp_dbm(&self) -> f64 {
        UPLINK_TRANSMIT_DBM - self.path_loss_db - self.shadow.value
    }

    pub fn sinr_db(&self) -> f64 {
        self.rsrp_dbm() - DOWNLINK_NOISE_DBM + self.fading.value
    }

    pub fn uplink_sinr_db(&self) -> f64 {
        (self.uplink_rsrp_dbm() - UPLINK_NOISE_DBM).min(UPLINK_TARGET_DB) + self.fading.value
    }
}

/// Urban macro without line of sight, antennas at 25 m and 1.5 m (TS 38.901 table 7.4.1-1).
fn path_loss_db(distance_m: f64) -> f64 {
    let distance_m = distance_m.hypot(25.0 - 1.5);
    13.54 + 39.08 * distance_m.log10() + 20.0 * CARRIER_GHZ.log10()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_remember_and_forget() {
        let mut random = Random::new(3, 0);
        let mut memory = Memory::new(6.0, 0.99, &mut random);
        let (mut squares, mut products, mut before) = (0.0, 0.0, memory.value);
        let n = 200_000;
        for _ in 0..n {
            memory.step(&mut random);
            squares += memory.value * memory.value;
            products += memory.value * before;
            before = memory.value;
        }
        let deviation = (squares / f64::from(n)).sqrt();
        assert!((deviation - 6.0).abs() < 0.6, "{deviation}");
        assert!((products / squares - 0.99).abs() < 0.002, "{}", products / squares);
    }

    #[test]
    fn distances_make_the_whole_range_of_channels() {
        assert!(path_loss_db(50.0) < path_loss_db(100.0));
        let sinr: Vec<f64> = (0..400).map(|ue| Channel::new(0.01, &mut Random::new(1, ue)).sinr_db()).collect();
        let mean = sinr.iter().sum::<f64>() / 400.0;
        assert!((10.0..25.0).contains(&mean), "{mean}");
        assert!(sinr.iter().any(|s| *s < 5.0) && sinr.iter().any(|s| *s > 28.0));
    }
}
