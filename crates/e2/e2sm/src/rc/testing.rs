//! Conditions on RAN parameters, and groups of UEs.

use per::{List, Per};

use super::{RanParameterId, RanParameterValue, RanParameterValueType};

/// LogicalOR: how a condition is joined to the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum LogicalOr {
    /// By OR.
    True,
    /// By AND, which is also the meaning of absence.
    False,
}

/// RANParameter-Testing: conditions on RAN parameters.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(size = 1..=255)]
pub struct RanParameterTesting<'a>(pub List<'a, RanParameterTestingItem<'a>>);

/// RANParameter-Testing-Item: a condition on one parameter.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct RanParameterTestingItem<'a> {
    /// The parameter.
    pub ran_parameter_id: RanParameterId,
    /// The condition, which depends on the type of the parameter.
    pub ran_parameter_type: RanParameterTestingType<'a>,
}

/// The condition of a [`RanParameterTestingItem`].
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub enum RanParameterTestingType<'a> {
    /// On the items of a list.
    List(RanParameterTestingList<'a>),
    /// On the contents of a structure.
    Structure(RanParameterTestingStructure<'a>),
    /// An element with the key flag has this value.
    ElementTrue(RanParameterTestingElementTrue<'a>),
    /// On an element.
    ElementFalse(RanParameterTestingElementFalse<'a>),
}

/// RANParameter-Testing-Item-Choice-List.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct RanParameterTestingList<'a> {
    /// The conditions on its items: RANParameter-Testing-LIST.
    #[per(size = 1..=65535)]
    pub list: List<'a, RanParameterTestingItem<'a>>,
}

/// RANParameter-Testing-Item-Choice-Structure.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct RanParameterTestingStructure<'a> {
    /// The conditions on its contents: RANParameter-Testing-STRUCTURE.
    #[per(size = 1..=65535)]
    pub structure: List<'a, RanParameterTestingItem<'a>>,
}

/// RANParameter-Testing-Item-Choice-ElementTrue.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct RanParameterTestingElementTrue<'a> {
    /// The required value.
    pub value: RanParameterValue<'a>,
}

/// RANParameter-Testing-Item-Choice-ElementFalse.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct RanParameterTestingElementFalse<'a> {
    /// The test.
    pub test_condition: RanParameterTestingCondition,
    /// The value to compare with.
    pub value: Option<RanParameterValue<'a>>,
    /// Whether the condition is joined to the next one by OR.
    pub logical_or: Option<LogicalOr>,
}

/// RANParameter-TestingCondition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum RanParameterTestingCondition {
    /// A comparison with a value.
    Comparison(Comparison),
    /// A test without a value.
    Presence(Presence),
}

/// The comparison of a [`RanParameterTestingCondition`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum Comparison {
    /// Equal to the value.
    Equal,
    /// Not equal to the value.
    Difference,
    /// Greater than the value.
    GreaterThan,
    /// Less than the value.
    LessThan,
    /// Contains the value.
    Contains,
    /// Starts with the value.
    StartsWith,
}

/// The test of a [`RanParameterTestingCondition`] without a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum Presence {
    /// Present.
    Present,
    /// Configured.
    Configured,
    /// Rolled over.
    Rollover,
    /// Not zero.
    NonZero,
    /// Changed (v03.00).
    #[per(addition, since = 2)]
    ValueChange,
}

/// UE-Group-Definition: the UEs of a group (v03.00).
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct UeGroupDefinition<'a> {
    /// The identifiers of the group.
    #[per(size = 1..=255)]
    pub identifier_list: List<'a, UeGroupDefinitionIdentifierItem<'a>>,
}

/// UEGroupDefinitionIdentifier-Item (v03.00).
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct UeGroupDefinitionIdentifierItem<'a> {
    /// The parameter.
    pub ran_parameter_id: RanParameterId,
    /// The condition.
    pub value_type: RanParameterValueType<'a>,
    /// Whether it is joined to the next one by OR.
    pub logical_or: Option<LogicalOr>,
}
