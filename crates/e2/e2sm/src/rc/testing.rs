//! Conditions on RAN parameters, and who meets them.

use per::{List, Per};

use super::{RanParameterId, RanParameterValue, RanParameterValueType};

/// LogicalOR: whether a condition is an alternative to the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum LogicalOr {
    /// It is.
    True,
    /// Both are demanded, as where nothing is said.
    False,
}

/// RANParameter-Testing: conditions on RAN parameters.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(size = 1..=255)]
pub struct RanParameterTesting<'a>(pub List<'a, RanParameterTestingItem<'a>>);

/// RANParameter-Testing-Item: a condition on one.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct RanParameterTestingItem<'a> {
    /// Which parameter.
    pub ran_parameter_id: RanParameterId,
    /// The condition, by what the parameter is.
    pub ran_parameter_type: RanParameterTestingType<'a>,
}

/// The condition of a [`RanParameterTestingItem`].
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub enum RanParameterTestingType<'a> {
    /// On what is in a list.
    List(RanParameterTestingList<'a>),
    /// On what is in a structure.
    Structure(RanParameterTestingStructure<'a>),
    /// An element with the key flag set has that value.
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
    /// The conditions on what is in it: RANParameter-Testing-STRUCTURE.
    #[per(size = 1..=65535)]
    pub structure: List<'a, RanParameterTestingItem<'a>>,
}

/// RANParameter-Testing-Item-Choice-ElementTrue.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct RanParameterTestingElementTrue<'a> {
    /// The value that it must have.
    pub value: RanParameterValue<'a>,
}

/// RANParameter-Testing-Item-Choice-ElementFalse.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct RanParameterTestingElementFalse<'a> {
    /// How it is tested.
    pub test_condition: RanParameterTestingCondition,
    /// What it is compared with.
    pub value: Option<RanParameterValue<'a>>,
    /// Whether the condition is an alternative to the next one.
    pub logical_or: Option<LogicalOr>,
}

/// RANParameter-TestingCondition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum RanParameterTestingCondition {
    /// Compared with a value.
    Comparison(Comparison),
    /// Looked at alone.
    Presence(Presence),
}

/// How a [`RanParameterTestingCondition`] compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum Comparison {
    /// It is the value.
    Equal,
    /// It is not the value.
    Difference,
    /// It is above the value.
    GreaterThan,
    /// It is below the value.
    LessThan,
    /// It has the value in it.
    Contains,
    /// It begins with the value.
    StartsWith,
}

/// What a [`RanParameterTestingCondition`] looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum Presence {
    /// It is there.
    Present,
    /// It is configured.
    Configured,
    /// It has rolled over.
    Rollover,
    /// It is not zero.
    NonZero,
    /// It has changed (v03.00).
    #[per(addition, since = 2)]
    ValueChange,
}

/// UE-Group-Definition: the UEs of a group (v03.00).
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct UeGroupDefinition<'a> {
    /// What they have in common.
    #[per(size = 1..=255)]
    pub identifier_list: List<'a, UeGroupDefinitionIdentifierItem<'a>>,
}

/// UEGroupDefinitionIdentifier-Item (v03.00).
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct UeGroupDefinitionIdentifierItem<'a> {
    /// Which parameter.
    pub ran_parameter_id: RanParameterId,
    /// What it must be.
    pub value_type: RanParameterValueType<'a>,
    /// Whether it is an alternative to the next one.
    pub logical_or: Option<LogicalOr>,
}
