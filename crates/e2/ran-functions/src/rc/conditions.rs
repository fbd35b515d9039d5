//! Conditions on UEs (RC 9.3.11): whether the base station can evaluate them, and whether they hold.
//!
//! Conditions joined by OR form a group. A group holds if one of its conditions holds; all groups must hold.

use std::cmp::Ordering;

use e2sm::common::UeId;
use e2sm::rc::{
    Comparison, EventTriggerUeInfo, EventTriggerUeType, LogicalOr, Presence, RanParameterId, RanParameterTesting,
    RanParameterTestingCondition, RanParameterTestingItem, RanParameterTestingType, RanParameterValue,
    RanParameterValueType, UeGroupDefinition,
};
use ferric::agent::Ue;

use super::{RcSource, SupportedParameter};

/// Whether all groups hold. Each item states whether a condition holds, and whether OR joins it to the next.
pub(super) fn all_groups(conditions: impl IntoIterator<Item = (bool, bool)>) -> bool {
    let (mut holds, mut open) = (false, false);
    for (condition, or) in conditions {
        holds |= condition;
        open = or;
        if !or && !std::mem::take(&mut holds) {
            return false;
        }
    }
    // an OR after the last condition ends its group
    !open || holds
}

fn is_or(or: Option<LogicalOr>) -> bool {
    or == Some(LogicalOr::True)
}

/// A condition on one parameter.
struct Test<'s, 'a> {
    id: RanParameterId,
    condition: RanParameterTestingCondition,
    value: Option<&'s RanParameterValue<'a>>,
    or: bool,
}

/// The condition of an item; `None` for a structure or a list, since parameters of UEs are elements.
fn test<'s, 'a>(item: &'s RanParameterTestingItem<'a>) -> Option<Test<'s, 'a>> {
    let id = item.ran_parameter_id;
    match &item.ran_parameter_type {
        RanParameterTestingType::ElementTrue(element) => {
            let condition = RanParameterTestingCondition::Comparison(Comparison::Equal);
            Some(Test { id, condition, value: Some(&element.value), or: false })
        }
        RanParameterTestingType::ElementFalse(element) => Some(Test {
            id,
            condition: element.test_condition,
            value: element.value.as_ref(),
            or: is_or(element.logical_or),
        }),
        RanParameterTestingType::List(_) | RanParameterTestingType::Structure(_) => None,
    }
}

/// Whether the base station can evaluate the conditions: it supports their parameters, which `is_allowed` accepts, and
/// comparisons have a value.
pub(super) fn can_evaluate<S: RcSource>(
    source: &S,
    testing: &RanParameterTesting<'_>,
    is_allowed: fn(&SupportedParameter) -> bool,
) -> bool {
    testing.0.iter().all(|item| {
        test(item).is_some_and(|test| {
            let known = source
                .ue_parameters()
                .iter()
                .any(|known_parameter| known_parameter.id == test.id && is_allowed(known_parameter));
            known
                && match test.condition {
                    RanParameterTestingCondition::Comparison(_) => test.value.is_some(),
                    RanParameterTestingCondition::Presence(presence) => {
                        matches!(presence, Presence::Present | Presence::Configured | Presence::NonZero)
                    }
                }
        })
    })
}

/// Whether a UE meets conditions that [can be evaluated](can_evaluate).
pub(super) fn hold<S: RcSource>(source: &S, ue: Ue, testing: &RanParameterTesting<'_>) -> bool {
    all_groups(testing.0.iter().filter_map(test).map(|test| {
        let value = source.ue_parameter(ue, test.id);
        let holds = match (test.condition, &value) {
            (_, None) => false,
            (RanParameterTestingCondition::Presence(Presence::NonZero), Some(value)) => {
                order(value, &RanParameterValue::ValueInt(0)).is_some_and(|order| order != Ordering::Equal)
            }
            (RanParameterTestingCondition::Presence(_), Some(_)) => true,
            (RanParameterTestingCondition::Comparison(comparison), Some(value)) => {
                test.value.is_some_and(|with| compares(comparison, value, with))
            }
        };
        (holds, test.or)
    }))
}

/// The order of two values; numbers of different types can be compared.
fn order(a: &RanParameterValue<'_>, b: &RanParameterValue<'_>) -> Option<Ordering> {
    let number = |value: &RanParameterValue<'_>| match value {
        RanParameterValue::ValueBoolean(value) => Some(f64::from(u8::from(*value))),
        RanParameterValue::ValueInt(value) => Some(*value as f64),
        RanParameterValue::ValueReal(value) => Some(value.value()),
        _ => None,
    };
    match (a, b) {
        // an f64 is not exact beyond 2^53
        (RanParameterValue::ValueInt(a), RanParameterValue::ValueInt(b)) => Some(a.cmp(b)),
        _ => number(a)?.partial_cmp(&number(b)?),
    }
}

fn compares(comparison: Comparison, value: &RanParameterValue<'_>, with: &RanParameterValue<'_>) -> bool {
    let same = || order(value, with).map_or_else(|| value == with, |order| order == Ordering::Equal);
    let test_octets = |test: fn(&[u8], &[u8]) -> bool| match (octets(value), octets(with)) {
        (Some(value), Some(with)) => test(&value, &with),
        _ => false,
    };
    match comparison {
        Comparison::Equal => same(),
        Comparison::Difference => !same(),
        Comparison::GreaterThan => order(value, with) == Some(Ordering::Greater),
        Comparison::LessThan => order(value, with) == Some(Ordering::Less),
        Comparison::StartsWith => test_octets(|value, with| value.starts_with(with)),
        Comparison::Contains => {
            test_octets(|value, with| with.is_empty() || value.windows(with.len()).any(|part| part == with))
        }
    }
}

fn octets(value: &RanParameterValue<'_>) -> Option<Vec<u8>> {
    match value {
        RanParameterValue::ValueOctS(octets) => Some(octets.to_cow().into_owned()),
        RanParameterValue::ValuePrintableString(text) => Some(text.as_bytes().to_vec()),
        _ => None,
    }
}

/// Whether the base station can evaluate the UE conditions of an event trigger.
pub(super) fn can_select<S: RcSource>(source: &S, ues: &EventTriggerUeInfo<'_>) -> bool {
    ues.ue_info_list.iter().all(|item| match &item.ue_type {
        EventTriggerUeType::Individual(one) => {
            one.ran_parameter_testing.as_ref().is_none_or(|testing| can_evaluate(source, testing, |_| true))
        }
        EventTriggerUeType::Group(group) => can_evaluate(source, &group.ran_parameter_testing, |_| true),
    })
}

/// Whether an event trigger selects a UE. Individual UE IDs are joined by OR, since no UE has two of them.
pub(super) fn selects<S: RcSource>(source: &S, ue: Ue, ues: &EventTriggerUeInfo<'_>) -> bool {
    let has_id = |ue_id: &UeId<'_>| source.ue_id(ue).is_same_ue(ue_id);
    all_groups(ues.ue_info_list.iter().map(|item| match &item.ue_type {
        EventTriggerUeType::Individual(one) => {
            let meets = || one.ran_parameter_testing.as_ref().is_none_or(|testing| hold(source, ue, testing));
            (has_id(&one.ue_id) && meets(), true)
        }
        EventTriggerUeType::Group(group) => (hold(source, ue, &group.ran_parameter_testing), is_or(item.logical_or)),
    }))
}

/// Whether the base station supports the parameters that define a group.
pub(super) fn can_group<S: RcSource>(source: &S, group: &UeGroupDefinition<'_>) -> bool {
    group.identifier_list.iter().all(|item| {
        let known = source.ue_parameters().iter().any(|known_parameter| known_parameter.id == item.ran_parameter_id);
        known && value(&item.value_type).is_some()
    })
}

/// Whether a UE belongs to a group that [can be evaluated](can_group).
pub(super) fn is_in_group<S: RcSource>(source: &S, ue: Ue, group: &UeGroupDefinition<'_>) -> bool {
    all_groups(group.identifier_list.iter().map(|item| {
        let ours = source.ue_parameter(ue, item.ran_parameter_id);
        let same = ours.zip(value(&item.value_type)).is_some_and(|(a, b)| compares(Comparison::Equal, &a, b));
        (same, is_or(item.logical_or))
    }))
}

fn value<'s, 'a>(value_type: &'s RanParameterValueType<'a>) -> Option<&'s RanParameterValue<'a>> {
    match value_type {
        RanParameterValueType::ElementTrue(element) => Some(&element.value),
        RanParameterValueType::ElementFalse(element) => element.value.as_ref(),
        RanParameterValueType::Structure(_) | RanParameterValueType::List(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use per::{Octets, PrintableString, Real};

    use super::*;

    #[test]
    fn groups_are_joined_by_and() {
        let (t, f) = (true, false);
        for (conditions, holds) in [
            (&[][..], true),
            (&[(t, f)], true),
            (&[(f, f)], false),
            (&[(t, f), (f, f)], false),
            (&[(f, t), (t, f), (t, f)], true),
            (&[(t, t), (f, f), (f, f)], false),
            (&[(t, f), (f, t)], false),
            (&[(t, f), (t, t)], true),
        ] {
            assert_eq!(all_groups(conditions.iter().copied()), holds, "{conditions:?}");
        }
    }

    #[test]
    fn values_of_different_types_are_compared() {
        let int = RanParameterValue::ValueInt;
        let real = |value: f64| RanParameterValue::ValueReal(Real::from(value));
        let text = |text: &'static str| RanParameterValue::ValuePrintableString(PrintableString::literal(text));
        let octets = |octets: &'static [u8]| RanParameterValue::ValueOctS(Octets::from(octets));
        for (value, comparison, with, holds) in [
            (int(-110), Comparison::LessThan, int(-100), true),
            (int(i64::MAX), Comparison::GreaterThan, int(i64::MAX - 1), true),
            (real(1.5), Comparison::GreaterThan, int(1), true),
            (int(1), Comparison::Equal, RanParameterValue::ValueBoolean(true), true),
            (int(1), Comparison::Difference, real(1.0), false),
            (real(f64::NAN), Comparison::LessThan, int(1), false),
            (text("internet"), Comparison::StartsWith, text("inter"), true),
            (octets(b"abc"), Comparison::Contains, octets(b"bc"), true),
            (octets(b"abc"), Comparison::Contains, octets(b""), true),
            (octets(b"abc"), Comparison::Contains, octets(b"abcd"), false),
            (octets(b"1"), Comparison::GreaterThan, octets(b"0"), false),
            (int(1), Comparison::StartsWith, text("1"), false),
        ] {
            assert_eq!(compares(comparison, &value, &with), holds, "{value:?} {comparison:?} {with:?}");
        }
    }
}
