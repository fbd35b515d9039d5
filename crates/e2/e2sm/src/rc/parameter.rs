//! RAN parameters: values, structures and lists of them (RC 9.3.8 to 9.3.14).
//!
//! Parameters nest: a structure holds parameters, which may be structures. What a peer sends nests at most as deep as
//! [`per::MAX_DEPTH`] allows; deeper is an error, not a deep stack.

use per::{BitString, List, Octets, Per, PrintableString, Real};

use super::{RanParameterId, RanParameterName};

/// RANParameter-Value.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub enum RanParameterValue<'a> {
    /// A truth value.
    ValueBoolean(bool),
    /// A whole number; an enumeration's too.
    ValueInt(i64),
    /// A real number.
    ValueReal(Real<'a>),
    /// Bits.
    ValueBitS(BitString<'a>),
    /// Octets, which may be the encoding of an IE of another protocol.
    ValueOctS(Octets<'a>),
    /// Text.
    ValuePrintableString(PrintableString<'a>),
}

/// RANParameter-ValueType: what a RAN parameter is.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub enum RanParameterValueType<'a> {
    /// An element whose key flag is set: it names the structure that it is in.
    ElementTrue(RanParameterElementTrue<'a>),
    /// An element.
    ElementFalse(RanParameterElementFalse<'a>),
    /// A structure of parameters.
    Structure(RanParameterValueTypeStructure<'a>),
    /// A list of structures.
    List(RanParameterValueTypeList<'a>),
}

/// RANParameter-ValueType-Choice-ElementTrue.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct RanParameterElementTrue<'a> {
    /// Its value.
    pub value: RanParameterValue<'a>,
}

/// RANParameter-ValueType-Choice-ElementFalse.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct RanParameterElementFalse<'a> {
    /// Its value, which a control always has.
    pub value: Option<RanParameterValue<'a>>,
}

/// RANParameter-ValueType-Choice-Structure.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct RanParameterValueTypeStructure<'a> {
    /// The structure.
    pub structure: RanParameterStructure<'a>,
}

/// RANParameter-ValueType-Choice-List.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct RanParameterValueTypeList<'a> {
    /// The list.
    pub list: RanParameterList<'a>,
}

/// RANParameter-STRUCTURE.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct RanParameterStructure<'a> {
    /// What is in it.
    #[per(size = 1..=65535)]
    pub parameters: Option<List<'a, RanParameterItem<'a>>>,
}

/// RANParameter-LIST.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct RanParameterList<'a> {
    /// Its items.
    #[per(size = 1..=65535)]
    pub list: List<'a, RanParameterStructure<'a>>,
}

/// A RAN parameter: RANParameter-STRUCTURE-Item, and the items of every message that carries parameters, which
/// have the same form under names of their own.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct RanParameterItem<'a> {
    /// Which parameter.
    pub ran_parameter_id: RanParameterId,
    /// What it is.
    pub value_type: RanParameterValueType<'a>,
}

/// A RAN parameter that may be there without being told: the items of QueryOutcome's formats (v03.00).
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct OptionalRanParameterItem<'a> {
    /// Which parameter.
    pub ran_parameter_id: RanParameterId,
    /// What it is.
    pub value_type: Option<RanParameterValueType<'a>>,
}

/// A RAN parameter that is an element: the items of ControlOutcome's formats 1 and 2.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct RanParameterElementItem<'a> {
    /// Which parameter.
    pub ran_parameter_id: RanParameterId,
    /// Its value.
    pub value: RanParameterValue<'a>,
}

/// RANParameter-Definition: what is within a parameter that is a list or a structure.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct RanParameterDefinition<'a> {
    /// Which of the two.
    pub definition_choice: RanParameterDefinitionChoice<'a>,
}

/// RANParameter-Definition-Choice.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub enum RanParameterDefinitionChoice<'a> {
    /// A list, of such items.
    List(RanParameterDefinitionList<'a>),
    /// A structure, of such items.
    Structure(RanParameterDefinitionStructure<'a>),
}

/// RANParameter-Definition-Choice-LIST.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct RanParameterDefinitionList<'a> {
    /// What is in each item.
    #[per(size = 1..=65535)]
    pub list: List<'a, RanParameterDefinitionItem<'a>>,
}

/// RANParameter-Definition-Choice-STRUCTURE.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct RanParameterDefinitionStructure<'a> {
    /// What is in it.
    #[per(size = 1..=65535)]
    pub structure: List<'a, RanParameterDefinitionItem<'a>>,
}

/// A parameter within a definition: RANParameter-Definition-Choice-LIST-Item, -STRUCTURE-Item, and
/// Query-RANParameter-Item.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct RanParameterDefinitionItem<'a> {
    /// Which parameter.
    pub ran_parameter_id: RanParameterId,
    /// Its name.
    pub ran_parameter_name: RanParameterName<'a>,
    /// What is within it.
    pub ran_parameter_definition: Option<RanParameterDefinition<'a>>,
}

/// A parameter that is offered: the items of the RAN function definition's lists but that of queries.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct OfferedRanParameter<'a> {
    /// Which parameter.
    pub ran_parameter_id: RanParameterId,
    /// Its name.
    pub ran_parameter_name: RanParameterName<'a>,
    /// What is within it.
    #[per(addition)]
    pub ran_parameter_definition: Option<RanParameterDefinition<'a>>,
}

/// A parameter that is asked for: the items of the action definition's formats 1, 3 and 4.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct WantedRanParameter<'a> {
    /// Which parameter.
    pub ran_parameter_id: RanParameterId,
    /// What is wanted within it.
    #[per(addition)]
    pub ran_parameter_definition: Option<RanParameterDefinition<'a>>,
}

/// A parameter that is queried: the items of QueryDefinition's format 1 (v03.00) and of ControlMessage's format 4
/// (v05.00).
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct QueriedRanParameter<'a> {
    /// Which parameter.
    pub ran_parameter_id: RanParameterId,
    /// What is wanted within it.
    pub ran_parameter_definition: Option<RanParameterDefinition<'a>>,
}
