//! Users of cells: they arrive, stay, move to the next cell and leave; what they transmit comes and goes.
//!
//! Arrivals are a Poisson process for each agent, holding times lognormal, handovers exponential in time. A user transmits in bursts:
//! on and off times are exponential. An agent reports the users that transmit, and each change is an event that it reports at once,
//! beside its periodic reports.

use radio::Random;

/// The users of each agent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UsersConfig {
    /// Arrivals per second at each agent.
    pub arrivals_per_s: f64,
    /// The mean holding time.
    pub holding_mean_s: f64,
    /// The standard deviation of its logarithm.
    pub holding_sigma: f64,
    /// Handovers of each user per second, to the next agent.
    pub handovers_per_s: f64,
    /// A flash crowd.
    pub crowd: Option<Crowd>,
    /// Bursts of what each user transmits.
    pub transmissions: Option<Transmissions>,
}

/// An interval with more arrivals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Crowd {
    /// When it begins, after the beginning of the load.
    pub at_s: f64,
    /// How long it lasts.
    pub duration_s: f64,
    /// The factor by which there are more arrivals.
    pub factor: f64,
}

/// On and off times of a user's transmissions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transmissions {
    /// The mean length of a burst.
    pub on_mean_s: f64,
    /// The mean pause between two bursts.
    pub off_mean_s: f64,
}

impl UsersConfig {
    /// The holding time of a user: lognormal, with the configured mean.
    pub fn holding_s(&self, random: &mut Random) -> f64 {
        // the mean of a lognormal variable is exp(mu + sigma^2 / 2)
        let mu = self.holding_mean_s.ln() - self.holding_sigma.powi(2) / 2.0;
        (mu + self.holding_sigma * gaussian(random)).exp()
    }

    /// The time until the next arrival, `at_s` seconds after the beginning of the load.
    pub fn arrival_s(&self, at_s: f64, random: &mut Random) -> f64 {
        // thinning: candidates at the highest rate, of which a share is accepted (Lewis and Shedler, 1979)
        let highest = self.arrivals_per_s * self.crowd.map_or(1.0, |crowd| crowd.factor.max(1.0));
        let mut at = at_s;
        loop {
            at += random.exponential(1.0 / highest);
            if random.uniform() * highest <= self.rate(at) {
                return at - at_s;
            }
        }
    }

    fn rate(&self, at_s: f64) -> f64 {
        let is_crowded = |crowd: &Crowd| (crowd.at_s..crowd.at_s + crowd.duration_s).contains(&at_s);
        self.arrivals_per_s * self.crowd.filter(is_crowded).map_or(1.0, |crowd| crowd.factor)
    }

    /// The expected users of an agent, without a crowd (Little's law).
    #[must_use]
    pub fn expected(&self) -> f64 {
        self.arrivals_per_s * self.holding_mean_s
    }
}

/// A normal variable with mean 0 and variance 1, by Box and Muller: the tails of the lognormal holding times count.
fn gaussian(random: &mut Random) -> f64 {
    let (radius, angle) = ((-2.0 * (1.0 - random.uniform()).ln()).sqrt(), std::f64::consts::TAU * random.uniform());
    radius * angle.cos()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> UsersConfig {
        let crowd = Some(Crowd { at_s: 100.0, duration_s: 50.0, factor: 10.0 });
        UsersConfig { arrivals_per_s: 2.0, holding_mean_s: 30.0, holding_sigma: 0.8, crowd, ..UsersConfig::default() }
    }

    #[test]
    fn holding_times_have_the_configured_mean_and_spread() {
        let (config, mut random) = (config(), Random::new(1, 0));
        let times: Vec<f64> = (0..100_000).map(|_| config.holding_s(&mut random)).collect();
        let mean = times.iter().sum::<f64>() / times.len() as f64;
        assert!((mean / 30.0 - 1.0).abs() < 0.02, "{mean}");
        let log_mean = times.iter().map(|t| t.ln()).sum::<f64>() / times.len() as f64;
        let spread = (times.iter().map(|t| (t.ln() - log_mean).powi(2)).sum::<f64>() / times.len() as f64).sqrt();
        assert!((spread - 0.8).abs() < 0.01, "{spread}");
    }

    #[test]
    fn arrivals_are_poisson_and_crowd_together() {
        let (config, mut random) = (config(), Random::new(2, 0));
        let (mut before, mut during) = (0.0, 0.0);
        for _ in 0..200 {
            let mut at = 0.0;
            while at < 150.0 {
                at += config.arrival_s(at, &mut random);
                if at < 100.0 {
                    before += 1.0;
                } else if at < 150.0 {
                    during += 1.0;
                }
            }
        }
        assert!((before / 200.0 / 100.0 / 2.0 - 1.0_f64).abs() < 0.03, "{before}");
        assert!((during / 200.0 / 50.0 / 20.0 - 1.0_f64).abs() < 0.03, "{during}");
        assert!((config.expected() - 60.0).abs() < 1e-9);
    }
}
