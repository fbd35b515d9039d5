//! Rules on handovers that nodes begin, for policies: with the names of conditions that a node registers.

use core::fmt;

use per::List;

use super::dictionary::HANDOVER_PREPARATION;
use super::{
    Comparison, ControlAction, Decision, Handover, OtherAction, Plan, RanFunctionDefinition, RanParameterId,
    RanParameterTesting, RanParameterTestingCondition, RanParameterTestingElementFalse, RanParameterTestingItem,
    RanParameterTestingType, RanParameterValue, Rule,
};
use crate::common::Cgi;

/// The most rules of a policy, and the most conditions of a rule: 255 is what RANParameter-Testing takes.
pub const MAX_RULES: usize = 64;
/// The most conditions of a rule.
pub const MAX_CONDITIONS: usize = 16;

/// A rule on handovers that a node begins (policy style 3, action 1). The first rule whose conditions all hold applies; a handover
/// to which none applies continues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandoverRule {
    /// The conditions, all of which must hold; without any, the rule always applies.
    pub conditions: Vec<RuleCondition>,
    /// What the node does.
    pub outcome: HandoverOutcome,
}

/// A condition of a [`HandoverRule`] on a UE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleCondition {
    /// The parameter: the name that the node registers, or its number in digits.
    pub parameter: String,
    /// How it is compared.
    pub comparison: Comparison,
    /// The value that it is compared with, in the unit of the parameter.
    pub value: i64,
}

/// What a node does with a handover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandoverOutcome {
    /// It continues.
    Accept,
    /// It ends.
    Reject,
    /// It continues to another cell: the NR or E-UTRA cell identity.
    To(u64),
}

/// Why rules cannot be a policy of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RuleFault {
    /// There are no rules, or more than `MAX_RULES`, or a rule has more than `MAX_CONDITIONS` conditions.
    Count,
    /// The node offers no policies on handovers.
    NotOffered,
    /// The node tests no such parameter.
    UnknownParameter {
        /// The parameter of the rule.
        parameter: String,
        /// The parameters that the node tests.
        offered: Vec<String>,
    },
}

impl fmt::Display for RuleFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RuleFault::Count => {
                write!(f, "a policy has 1 to {MAX_RULES} rules, each with at most {MAX_CONDITIONS} conditions")
            }
            RuleFault::NotOffered => {
                f.write_str("policies on handovers (E2SM-RC policy style 3, action 1) are not offered")
            }
            RuleFault::UnknownParameter { parameter, offered } => {
                write!(f, "the parameter {parameter} is not tested; tested are: {}", offered.join(", "))
            }
        }
    }
}

impl core::error::Error for RuleFault {}

/// Returns the comparison of that name: `equal`, `not_equal`, `greater` or `less`.
#[must_use]
pub fn comparison(name: &str) -> Option<Comparison> {
    COMPARISONS.iter().find(|(known, _)| *known == name).map(|(_, comparison)| *comparison)
}

/// Returns the name of a comparison, as [`comparison`] reads it; `None` for those of texts.
#[must_use]
pub fn comparison_name(comparison: Comparison) -> Option<&'static str> {
    COMPARISONS.iter().find(|(_, known)| *known == comparison).map(|(name, _)| *name)
}

/// The comparisons of numbers, by name.
const COMPARISONS: [(&str, Comparison); 4] = [
    ("equal", Comparison::Equal),
    ("not_equal", Comparison::Difference),
    ("greater", Comparison::GreaterThan),
    ("less", Comparison::LessThan),
];

/// Checks what depends on no node.
///
/// # Errors
/// [`RuleFault::Count`].
pub fn check_rules(rules: &[HandoverRule]) -> Result<(), RuleFault> {
    let is_short = |rule: &HandoverRule| rule.conditions.len() <= MAX_CONDITIONS;
    let fits = (1..=MAX_RULES).contains(&rules.len()) && rules.iter().all(is_short);
    if fits { Ok(()) } else { Err(RuleFault::Count) }
}

/// Plans the policy of rules on handovers for the node with a definition. `cell` names a cell as the node does.
///
/// # Errors
/// [`RuleFault`].
pub fn handover_policy(
    rules: &[HandoverRule],
    definition: &RanFunctionDefinition<'_>,
    cell: impl Fn(u64) -> Cgi,
) -> Result<Plan, RuleFault> {
    check_rules(rules)?;
    let handover = ControlAction::HANDOVER;
    let styles = definition.policy.iter().flat_map(|policy| &policy.policy_style_list);
    let of_style = styles.into_iter().filter(|style| style.ric_policy_style_type == handover.style);
    let mut actions = of_style.flat_map(|style| style.policy_action_list.iter().flatten());
    let action = actions.find(|action| action.ric_policy_action_id == handover.action).ok_or(RuleFault::NotOffered)?;
    let tested = || action.policy_condition_parameters_list.iter().flatten();
    let id = |parameter: &str| -> Result<RanParameterId, RuleFault> {
        let number = parameter.parse().ok().map(RanParameterId);
        let found = tested().find(|offered| {
            Some(offered.ran_parameter_id) == number || offered.ran_parameter_name.0.to_string() == parameter
        });
        found.map(|offered| offered.ran_parameter_id).ok_or_else(|| RuleFault::UnknownParameter {
            parameter: parameter.to_owned(),
            offered: tested().map(|offered| offered.ran_parameter_name.0.to_string()).collect(),
        })
    };
    let condition = |condition: &RuleCondition| {
        Ok(RanParameterTestingItem {
            ran_parameter_id: id(&condition.parameter)?,
            ran_parameter_type: RanParameterTestingType::ElementFalse(RanParameterTestingElementFalse {
                test_condition: RanParameterTestingCondition::Comparison(condition.comparison),
                value: Some(RanParameterValue::ValueInt(condition.value)),
                logical_or: None,
            }),
        })
    };
    let rule = |rule: &HandoverRule| {
        let conditions = rule.conditions.iter().map(condition).collect::<Result<Vec<_>, RuleFault>>()?;
        let decided = ControlAction::Other(OtherAction { id: handover, parameters: Vec::new() });
        let (action, decision) = match rule.outcome {
            HandoverOutcome::Accept => (decided, Decision::Accept),
            HandoverOutcome::Reject => (decided, Decision::Reject),
            HandoverOutcome::To(target) => (ControlAction::Handover(Handover::to(cell(target))), Decision::Accept),
        };
        let condition = (!conditions.is_empty()).then(|| RanParameterTesting(List::from(conditions)));
        Ok(Rule { condition, action, decision: Some(decision) })
    };
    let rules = rules.iter().map(rule).collect::<Result<Vec<_>, RuleFault>>()?;
    Ok(Plan::policy(HANDOVER_PREPARATION, handover.style.0, &rules))
}
