//! RAN parameters, and groups of UEs that they define.

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

/// RANparameter-Type: the type of a parameter's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum RanParameterType {
    /// An integer.
    Integer,
    /// An enumerated value.
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
    /// The type of its value.
    pub ran_parameter_type: RanParameterType,
}

/// RANueGroupID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(range = 0..=255)]
pub struct RanUeGroupId(pub u8);

/// RANueGroup-Item: a group of UEs and its policy.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct RanUeGroupItem<'a> {
    /// The group.
    pub ran_ue_group_id: RanUeGroupId,
    /// The definition of the group.
    pub ran_ue_group_definition: RanUeGroupDefinition<'a>,
    /// The policy.
    pub ran_policy: RanImperativePolicy<'a>,
}

/// RANueGroupDefinition: the conditions for UEs of a group.
#[derive(Clone, Debug, Default, PartialEq, Per)]
#[per(extensible)]
pub struct RanUeGroupDefinition<'a> {
    /// The conditions, all of which must hold.
    #[per(size = 1..=65535)]
    pub ran_ue_group_def_list: Option<List<'a, RanUeGroupDefItem<'a>>>,
}

/// RANueGroupDef-Item: a condition.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct RanUeGroupDefItem<'a> {
    /// The parameter.
    pub ran_parameter_id: RanParameterId,
    /// The comparison.
    pub ran_parameter_test: RanParameterTestCondition,
    /// The value to compare with.
    pub ran_parameter_value: RanParameterValue<'a>,
}

/// RANimperativePolicy: a policy.
#[derive(Clone, Debug, Default, PartialEq, Per)]
#[per(extensible)]
pub struct RanImperativePolicy<'a> {
    /// The parameters of the policy.
    #[per(size = 1..=65535)]
    pub ran_imperative_policy_list: Option<List<'a, RanParameterItem<'a>>>,
}
