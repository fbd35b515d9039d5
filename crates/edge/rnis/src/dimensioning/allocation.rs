//! The division of a budget: weighted max-min fairness.

/// What one of those who share a budget may get.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Demand {
    /// Its part, relative to the others.
    pub weight: u32,
    /// What it gets at least.
    pub min: f64,
    /// What it gets at most: at least `min`.
    pub want: f64,
}

/// Halvings of the interval that contains the level: beyond the precision of a share.
const HALVINGS: u32 = 60;

/// Divides a budget. If it is sufficient, each gets what it wants. Otherwise there is a level, and each gets the level times its weight,
/// but neither less than its minimum nor more than it wants. If even the minima exceed the budget, each gets the same part of its minimum.
/// The sum never exceeds the budget.
#[must_use]
pub fn allocate(budget: f64, demands: &[Demand]) -> Vec<f64> {
    let sum_of = |part: fn(&Demand) -> f64| demands.iter().map(part).sum::<f64>();
    if sum_of(|demand| demand.want) <= budget {
        return demands.iter().map(|demand| demand.want).collect();
    }
    let minima = sum_of(|demand| demand.min);
    if minima >= budget {
        let part = (budget / minima).min(1.0);
        return demands.iter().map(|demand| demand.min * part).collect();
    }
    let at = |level: f64| move |demand: &Demand| (level * f64::from(demand.weight)).max(demand.min).min(demand.want);
    // at the upper end each has what it wants, which is too much
    let highest = demands.iter().map(|demand| demand.want / f64::from(demand.weight.max(1))).fold(0.0, f64::max);
    let (mut low, mut high) = (0.0, highest);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if demands.iter().map(at(middle)).sum::<f64>() <= budget {
            low = middle;
        } else {
            high = middle;
        }
    }
    demands.iter().map(at(low)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn demand(weight: u32, min: f64, want: f64) -> Demand {
        Demand { weight, min, want }
    }

    #[track_caller]
    fn is(budget: f64, demands: &[Demand], expected: &[f64]) {
        let shares = allocate(budget, demands);
        let is_near = shares.iter().zip(expected).all(|(share, expected)| (share - expected).abs() < 1e-9);
        assert!(is_near && shares.len() == expected.len(), "{shares:?}, not {expected:?}");
    }

    #[test]
    fn budget_is_divided_by_weight_between_minimum_and_want() {
        is(2.0, &[demand(1, 0.1, 0.5), demand(1, 0.1, 1.0)], &[0.5, 1.0]);
        is(1.0, &[demand(1, 0.1, 2.0), demand(1, 0.1, 2.0)], &[0.5, 0.5]);
        is(1.0, &[demand(1, 0.1, 2.0), demand(3, 0.1, 2.0)], &[0.25, 0.75]);
        // who wants less leaves the rest to the others
        is(1.0, &[demand(1, 0.1, 0.2), demand(1, 0.1, 2.0), demand(1, 0.1, 2.0)], &[0.2, 0.4, 0.4]);
        // a minimum above the level
        is(1.0, &[demand(1, 0.6, 0.8), demand(1, 0.1, 2.0)], &[0.6, 0.4]);
        is(1.0, &[demand(1, 1.0, 1.0), demand(1, 1.0, 1.0)], &[0.5, 0.5]);
        is(1.0, &[], &[]);
    }
}
