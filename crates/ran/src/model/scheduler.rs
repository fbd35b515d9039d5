//! Who gets which share of the resource blocks: proportionally fair, and nobody more than he needs.

/// What one UE asks for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Demand {
    /// What it could get over what it got of late: those who are at their best come first, and all in the long run.
    pub weight: f64,
    /// Blocks that would empty its queue.
    pub blocks: u32,
}

/// Shares out `blocks` in proportion to the weights. `grants` has a place for each demand.
///
/// Who needs less than its share gets what it needs, and the rest is shared out anew among the others.
pub fn share_out(blocks: u32, demands: &[Demand], grants: &mut [u32]) {
    grants.fill(0);
    let mut left = blocks;
    loop {
        let open = || demands.iter().enumerate().filter(|(_, d)| d.blocks > 0);
        let weights: f64 = open().filter(|(at, _)| grants[*at] == 0).map(|(_, d)| d.weight).sum();
        if left == 0 || weights <= 0.0 {
            return;
        }
        let per_weight = f64::from(left) / weights;
        let mut satisfied = false;
        for (at, demand) in demands.iter().enumerate() {
            let fits = demand.blocks > 0 && grants[at] == 0 && f64::from(demand.blocks) <= demand.weight * per_weight;
            if fits && demand.blocks <= left {
                grants[at] = demand.blocks;
                left -= demand.blocks;
                satisfied = true;
            }
        }
        if satisfied {
            continue;
        }
        // Everybody that is left needs more than its share. Whole blocks: what rounding takes from one, the next gets.
        let mut owed = 0.5;
        for (at, demand) in demands.iter().enumerate() {
            if demand.blocks > 0 && grants[at] == 0 {
                owed += demand.weight * per_weight;
                let whole = (owed as u32).min(left);
                owed -= f64::from(whole);
                left -= whole;
                grants[at] = whole;
            }
        }
        return;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::random::Random;

    #[test]
    fn never_more_than_there_are_or_are_needed() {
        let mut random = Random::new(1, 1);
        let mut grants = [0; 40];
        for _ in 0..20_000 {
            let demands = [(); 40].map(|()| Demand {
                weight: random.exponential(1.0) + 1e-9,
                blocks: if random.uniform() < 0.5 { 0 } else { random.exponential(8.0) as u32 },
            });
            share_out(106, &demands, &mut grants);
            let (given, needed): (u32, u32) = (grants.iter().sum(), demands.iter().map(|d| d.blocks).sum());
            assert!(grants.iter().zip(&demands).all(|(grant, demand)| *grant <= demand.blocks));
            assert!(given <= 106);
            // work is conserved, but for what rounding leaves at the end
            assert!(given + 1 >= needed.min(106), "{given} of {needed}");
        }
    }

    #[test]
    fn in_proportion() {
        let demands =
            [(1.0, 1000), (2.0, 1000), (1.0, 1000), (1.0, 6)].map(|(weight, blocks)| Demand { weight, blocks });
        let mut grants = [0; 4];
        share_out(106, &demands, &mut grants);
        assert_eq!(grants, [25, 50, 25, 6]);
    }
}
