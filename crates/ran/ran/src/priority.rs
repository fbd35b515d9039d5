//! The scheduling weight of a bearer by its QoS.

/// The default priority levels of 5QIs (TS 23.501 table 5.7.4-1).
const PRIORITY_LEVELS: [(u8, u8); 9] =
    [(1, 20), (2, 40), (3, 30), (4, 50), (5, 10), (6, 60), (7, 70), (8, 80), (9, 90)];
/// The largest scheduling weight of a priority level; the smallest is its inverse.
const MAX_WEIGHT: f32 = 10.0;

/// The scheduling weight of a bearer: the ratio of the default priority level of the UE's first 5QI to the bearer's level.
/// `None` for an unknown 5QI.
pub fn scheduling_weight(first_five_qi: u8, five_qi: Option<u8>, priority_level: Option<u8>) -> Option<f32> {
    let level_of = |five_qi: u8| PRIORITY_LEVELS.iter().find(|(known, _)| *known == five_qi).map(|(_, level)| *level);
    let default = level_of(first_five_qi)?;
    let of_five_qi = five_qi.map(level_of);
    let level = match (priority_level, of_five_qi) {
        (_, Some(None)) => return None,
        (Some(level), _) | (None, Some(Some(level))) => level,
        (None, None) => default,
    };
    Some((f32::from(default) / f32::from(level.max(1))).clamp(1.0 / MAX_WEIGHT, MAX_WEIGHT))
}
