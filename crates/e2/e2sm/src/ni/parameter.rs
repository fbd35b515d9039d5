//! RAN parameters, and groups of UEs made by them.

use per::{List, Per, PrintableString};

use super::interface::{NiProtocolIeTest, NiProtocolIeValue};

/// RANparameter-ID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(range = 0..=65535)]
pub struct RanParameterId(pub u16);

/// RANparameter-Name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(size = 1..=150, extensible)]
pub struct RanParameterName<'a>(pub PrintableString<'a>);

/// RANparameter-Value.
pub type RanParameterValue<'a> = NiProtocolIeValue<'a>;

/// RANparameter-Test-Condition.
pub type RanParameterTestCondition = NiProtocolIeTest;

/// RANparameter-Type: what kind of value a parameter has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum RanParameterType {
    /// A whole number.
    Integer,
    /// One of an enumeration.
    Enumerated,
    /// A Boolean.
    Boolean,
    /// Bits.
    BitString,
    /// Octets.
    OctetString,
    /// Text.
    PrintableString,
}

/// RANparameter-Item: a parameter and its value.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct RanParameterItem<'a> {
    /// The parameter.
    pub ran_parameter_id: RanParameterId,
    /// Its value.
    pub ran_parameter_value: RanParameterValue<'a>,
}

/// RANparameterDef-Item: a parameter that a function has.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct RanParameterDefItem<'a> {
    /// The parameter.
    pub ran_parameter_id: RanParameterId,
    /// The name.
    pub ran_parameter_name: RanParameterName<'a>,
    /// What kind of value it has.
    pub ran_parameter_type: RanParameterType,
}

/// RANueGroupID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(range = 0..=255)]
pub struct RanUeGroupId(pub u8);

/// RANueGroup-Item: UEs, and what is done with them.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct RanUeGroupItem<'a> {
    /// The group.
    pub ran_ue_group_id: RanUeGroupId,
    /// Who is in it.
    pub ran_ue_group_definition: RanUeGroupDefinition<'a>,
    /// What is done with them.
    pub ran_policy: RanImperativePolicy<'a>,
}

/// RANueGroupDefinition: who is in a group.
#[derive(Clone, Debug, Default, PartialEq, Per)]
#[per(extensible)]
pub struct RanUeGroupDefinition<'a> {
    /// The tests, all of which must hold.
    #[per(size = 1..=65535)]
    pub ran_ue_group_def_list: Option<List<'a, RanUeGroupDefItem<'a>>>,
}

/// RANueGroupDef-Item: a test.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct RanUeGroupDefItem<'a> {
    /// The parameter.
    pub ran_parameter_id: RanParameterId,
    /// How it is compared.
    pub ran_parameter_test: RanParameterTestCondition,
    /// With what.
    pub ran_parameter_value: RanParameterValue<'a>,
}

/// RANimperativePolicy: what is done.
#[derive(Clone, Debug, Default, PartialEq, Per)]
#[per(extensible)]
pub struct RanImperativePolicy<'a> {
    /// The parameters that say so.
    #[per(size = 1..=65535)]
    pub ran_imperative_policy_list: Option<List<'a, RanParameterItem<'a>>>,
}
