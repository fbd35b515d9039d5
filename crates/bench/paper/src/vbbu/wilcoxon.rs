//! The signed-rank test of Wilcoxon for pairs, with its exact p-value.

/// The most pairs: the distribution is exact for any number, and its table has one entry for each half rank.
const MAX_PAIRS: usize = 200;

/// The probability that the differences are as large as these or larger if their median is 0: one-sided. Pairs without a difference
/// are left out; equal differences share their mean rank. 1 without any difference.
pub fn p_greater(differences: &[f64]) -> f64 {
    let mut sizes: Vec<(f64, bool)> = differences
        .iter()
        .filter(|difference| difference.is_finite() && **difference != 0.0)
        .take(MAX_PAIRS)
        .map(|difference| (difference.abs(), *difference > 0.0))
        .collect();
    sizes.sort_by(|one, other| one.0.total_cmp(&other.0));
    // ranks are counted in halves, so that the mean of equal ones is a whole number
    let mut ranks = Vec::new();
    for same in sizes.chunk_by(|one, other| one.0 == other.0) {
        let (first, last) = (ranks.len() + 1, ranks.len() + same.len());
        ranks.extend(same.iter().map(|_| first + last));
    }
    let sum: usize = ranks.iter().zip(&sizes).filter(|(_, (_, is_positive))| *is_positive).map(|(rank, _)| rank).sum();
    // how probable each sum is, when each sign is as probable as the other
    let mut probabilities = vec![1.0];
    for rank in &ranks {
        let mut next = vec![0.0; probabilities.len() + rank];
        for (at, probability) in probabilities.iter().enumerate() {
            next[at] += probability / 2.0;
            next[at + rank] += probability / 2.0;
        }
        probabilities = next;
    }
    probabilities[sum..].iter().sum::<f64>().min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p_values_are_those_of_the_tables() {
        // all of ten pairs in one direction: one of 1,024 combinations of signs
        let all: Vec<f64> = (1..=10).map(f64::from).collect();
        assert!((p_greater(&all) - 1.0 / 1024.0).abs() < 1e-12);
        assert!((p_greater(&all.iter().map(|value| -value).collect::<Vec<_>>()) - 1.0).abs() < 1e-12);
        // the sum 47 of 55, of ten pairs: 0.0244 one-sided in published tables
        let mostly: Vec<f64> = (1..=10).map(|rank| if rank == 8 { -8.0 } else { f64::from(rank) }).collect();
        assert!((p_greater(&mostly) - 25.0 / 1024.0).abs() < 1e-12, "{}", p_greater(&mostly));
    }

    #[test]
    fn equal_and_absent_differences_are_handled() {
        assert_eq!(p_greater(&[]), 1.0);
        assert_eq!(p_greater(&[0.0, f64::NAN]), 1.0);
        // four equal differences, three of them positive: 5 of 16
        assert!((p_greater(&[1.0, 1.0, -1.0, 1.0]) - 5.0 / 16.0).abs() < 1e-12);
    }
}
