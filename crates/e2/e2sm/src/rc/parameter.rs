//! RAN parameters: values, structures and lists of them (RC 9.3.8 to 9.3.14).
//!
//! Parameters nest: a structure contains parameters, which may be structures. [`per::MAX_DEPTH`] limits the depth, so that
//! a peer cannot exhaust the stack.

use per::{BitString, List, Octets, Per, PrintableString, Real};

use super::{RanParameterId, RanParameterName};

/// RANParameter-Value.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub enum RanParameterValue<'a> {
    /// A Boolean.
    ValueBoolean(bool),
    /// An integer or an enumeration.
    ValueInt(i64),
    /// A real number.
    ValueReal(Real<'a>),
    /// Bits.
    ValueBitS(BitString<'a>),
    /// Octets; possibly the encoding of an IE of another protocol.
    ValueOctS(Octets<'a>),
    /// Text.
    ValuePrintableString(PrintableString<'a>),
}

/// RANParameter-ValueType: the type and value of a RAN parameter.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub enum RanParameterValueType<'a> {
    /// An element with the key flag, which identifies its structure.
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
    /// Its value; mandatory in controls.
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
    /// Its contents.
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

/// A RAN parameter: RANParameter-STRUCTURE-Item, and the items of all messages with parameters, which have the same
/// format under different names.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct RanParameterItem<'a> {
    /// The parameter.
    pub ran_parameter_id: RanParameterId,
    /// Its type and value.
    pub value_type: RanParameterValueType<'a>,
}

/// A RAN parameter whose value may be absent: the items of QueryOutcome's formats (v03.00).
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct OptionalRanParameterItem<'a> {
    /// The parameter.
    pub ran_parameter_id: RanParameterId,
    /// Its type and value.
    pub value_type: Option<RanParameterValueType<'a>>,
}

/// A RAN parameter that is an element: the items of ControlOutcome's formats 1 and 2.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct RanParameterElementItem<'a> {
    /// The parameter.
    pub ran_parameter_id: RanParameterId,
    /// Its value.
    pub value: RanParameterValue<'a>,
}

/// RANParameter-Definition: the contents of a list or a structure.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct RanParameterDefinition<'a> {
    /// The contents.
    pub definition_choice: RanParameterDefinitionChoice<'a>,
}

/// RANParameter-Definition-Choice.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub enum RanParameterDefinitionChoice<'a> {
    /// A list.
    List(RanParameterDefinitionList<'a>),
    /// A structure.
    Structure(RanParameterDefinitionStructure<'a>),
}

/// RANParameter-Definition-Choice-LIST.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct RanParameterDefinitionList<'a> {
    /// The contents of each item.
    #[per(size = 1..=65535)]
    pub list: List<'a, RanParameterDefinitionItem<'a>>,
}

/// RANParameter-Definition-Choice-STRUCTURE.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct RanParameterDefinitionStructure<'a> {
    /// Its contents.
    #[per(size = 1..=65535)]
    pub structure: List<'a, RanParameterDefinitionItem<'a>>,
}

/// A parameter within a definition: RANParameter-Definition-Choice-LIST-Item, -STRUCTURE-Item, and
/// Query-RANParameter-Item.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct RanParameterDefinitionItem<'a> {
    /// The parameter.
    pub ran_parameter_id: RanParameterId,
    /// The name.
    pub ran_parameter_name: RanParameterName<'a>,
    /// The parameters inside of it.
    pub ran_parameter_definition: Option<RanParameterDefinition<'a>>,
}

/// An offered parameter: the items of all lists of the RAN function definition except that of queries.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct OfferedRanParameter<'a> {
    /// The parameter.
    pub ran_parameter_id: RanParameterId,
    /// The name.
    pub ran_parameter_name: RanParameterName<'a>,
    /// The parameters inside of it.
    #[per(addition)]
    pub ran_parameter_definition: Option<RanParameterDefinition<'a>>,
}

/// A requested parameter: the items of the action definition's formats 1, 3 and 4.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct WantedRanParameter<'a> {
    /// The parameter.
    pub ran_parameter_id: RanParameterId,
    /// The requested parameters inside of it.
    #[per(addition)]
    pub ran_parameter_definition: Option<RanParameterDefinition<'a>>,
}

/// A parameter that is queried: the items of QueryDefinition's format 1 (v03.00) and of ControlMessage's format 4
/// (v05.00).
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct QueriedRanParameter<'a> {
    /// The parameter.
    pub ran_parameter_id: RanParameterId,
    /// The requested parameters inside of it.
    pub ran_parameter_definition: Option<RanParameterDefinition<'a>>,
}
