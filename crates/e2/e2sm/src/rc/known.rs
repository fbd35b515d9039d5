//! Tables of the RAN parameters of an action, which parameters are checked against and built from.
//!
//! Each action with a type has such a table. It defines the type, bounds and contents of every parameter. Code that
//! follows the check only extracts the values.

use core::fmt;

use per::{List, Octets};

use super::{
    RanParameterDefinition, RanParameterDefinitionChoice, RanParameterDefinitionItem, RanParameterDefinitionList,
    RanParameterDefinitionStructure, RanParameterElementFalse, RanParameterElementTrue, RanParameterId,
    RanParameterItem, RanParameterList, RanParameterName, RanParameterStructure, RanParameterValue,
    RanParameterValueType, RanParameterValueTypeList, RanParameterValueTypeStructure,
};
use crate::Error;
use crate::common::{Cgi, EutraCgi, NrCgi};

/// A fault in a RAN parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterError {
    /// The parameter.
    pub id: RanParameterId,
    /// Its name in the specification; `None` if the action has no such parameter.
    pub name: Option<&'static str>,
    /// The structure or list that contains it, or should.
    pub within: Option<&'static str>,
    /// The fault.
    pub fault: ParameterFault,
}

/// The kind of a [`ParameterError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParameterFault {
    /// The parameter is missing.
    Missing,
    /// The parameter occurs twice.
    Twice,
    /// The parameter does not have this type: an element with a value of some type, a structure, a list.
    NotA(&'static str),
    /// The value is out of range.
    OutOfRange,
    /// The action has no such parameter here.
    Unknown,
}

impl fmt::Display for ParameterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RAN parameter {}", self.id.0)?;
        if let Some(name) = self.name {
            write!(f, " ({name})")?;
        }
        match self.fault {
            ParameterFault::Missing => f.write_str(" is missing")?,
            ParameterFault::Twice => f.write_str(" occurs twice")?,
            ParameterFault::NotA(what) => write!(f, " is not {what}")?,
            ParameterFault::OutOfRange => f.write_str(" is out of range")?,
            ParameterFault::Unknown => f.write_str(" is not a parameter of this action")?,
        }
        self.within.map_or(Ok(()), |within| write!(f, ", in {within}"))
    }
}

/// A RAN parameter of an action, as specified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownParameter {
    /// Its number.
    pub id: RanParameterId,
    /// The name.
    pub name: &'static str,
    /// Whether it is mandatory in its structure.
    pub is_required: bool,
    /// Whether a node that lists it in its RAN function definition needs it, although it may be absent elsewhere.
    pub is_needed_if_listed: bool,
    /// Its type.
    pub shape: Shape,
}

/// The type of a RAN parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// An integer or an enumeration, from the first to the second value.
    Number(i64, i64),
    /// Octets, with the smallest and greatest length.
    Octets(usize, usize),
    /// A Boolean, which some senders encode as integer 0 or 1.
    Flag,
    /// A structure of these parameters.
    Structure(&'static [KnownParameter]),
    /// A list of structures.
    List(&'static KnownParameter),
}

pub(super) const fn required(id: u32, name: &'static str, shape: Shape) -> KnownParameter {
    known(id, name, true, shape)
}

pub(super) const fn optional(id: u32, name: &'static str, shape: Shape) -> KnownParameter {
    known(id, name, false, shape)
}

/// A parameter that may be absent, except in controls to nodes that list it.
pub(super) const fn needed_if_listed(id: u32, name: &'static str, shape: Shape) -> KnownParameter {
    KnownParameter { is_needed_if_listed: true, ..known(id, name, false, shape) }
}

/// The tables are constants: a table with a list of anything but structures does not compile.
const fn known(id: u32, name: &'static str, is_required: bool, shape: Shape) -> KnownParameter {
    if let Shape::List(item) = shape {
        assert!(matches!(item.shape, Shape::Structure(_)), "a list contains structures");
    }
    KnownParameter { id: RanParameterId(id), name, is_required, is_needed_if_listed: is_required, shape }
}

/// Checks the parameters of an action against its table. Unknown parameters are refused: executing only a part of a
/// request would misinterpret it.
///
/// # Errors
/// [`Error::Parameter`]: the first fault.
pub(super) fn check(known: &[KnownParameter], items: &[RanParameterItem<'_>]) -> Result<(), Error> {
    check_within(known, items, None)
}

fn check_within(
    known: &[KnownParameter],
    items: &[RanParameterItem<'_>],
    within: Option<&'static str>,
) -> Result<(), Error> {
    for (at, item) in items.iter().enumerate() {
        let id = item.ran_parameter_id;
        let Some(parameter) = known.iter().find(|known| known.id == id) else {
            return Err(Error::Parameter(ParameterError { id, name: None, within, fault: ParameterFault::Unknown }));
        };
        if items[..at].iter().any(|before| before.ran_parameter_id == id) {
            return Err(parameter.fault(within, ParameterFault::Twice));
        }
        parameter.check(&item.value_type, within)?;
    }
    let missing = known.iter().find(|known| known.is_required && known.among(items).is_none());
    missing.map_or(Ok(()), |missing| Err(missing.fault(within, ParameterFault::Missing)))
}

impl KnownParameter {
    fn fault(&self, within: Option<&'static str>, fault: ParameterFault) -> Error {
        Error::Parameter(ParameterError { id: self.id, name: Some(self.name), within, fault })
    }

    /// Returns an error for a fault that the table cannot express.
    pub(super) fn error(&self, fault: ParameterFault) -> Error {
        self.fault(None, fault)
    }

    fn check(&self, value_type: &RanParameterValueType<'_>, within: Option<&'static str>) -> Result<(), Error> {
        let check = |holds: bool, fault| if holds { Ok(()) } else { Err(self.fault(within, fault)) };
        match self.shape {
            Shape::Structure(parts) => match value_type {
                RanParameterValueType::Structure(value) => {
                    check_within(parts, items_of(&value.structure), Some(self.name))
                }
                _ => check(false, ParameterFault::NotA("a structure")),
            },
            Shape::List(item) => {
                let RanParameterValueType::List(value) = value_type else {
                    return check(false, ParameterFault::NotA("a list"));
                };
                // checked by `known` at compile time; a peer only selects among the tables
                let Shape::Structure(parts) = item.shape else { panic!("{} is not a structure", item.name) };
                let mut each = value.list.list.iter().flat_map(|structure| item.unwrapped(structure));
                each.try_for_each(|items| check_within(parts, items, Some(item.name)))
            }
            Shape::Number(lo, hi) => match self.element(value_type, within)? {
                RanParameterValue::ValueInt(value) => check((lo..=hi).contains(value), ParameterFault::OutOfRange),
                _ => check(false, ParameterFault::NotA("a whole number")),
            },
            Shape::Octets(lo, hi) => match self.element(value_type, within)? {
                RanParameterValue::ValueOctS(value) => {
                    check((lo..=hi).contains(&value.len()), ParameterFault::OutOfRange)
                }
                _ => check(false, ParameterFault::NotA("octets")),
            },
            Shape::Flag => match self.element(value_type, within)? {
                RanParameterValue::ValueBoolean(_) => Ok(()),
                RanParameterValue::ValueInt(value) => check((0..=1).contains(value), ParameterFault::OutOfRange),
                _ => check(false, ParameterFault::NotA("a truth value")),
            },
        }
    }

    /// The value of an element, with or without key flag.
    fn element<'s, 'a>(
        &self,
        value_type: &'s RanParameterValueType<'a>,
        within: Option<&'static str>,
    ) -> Result<&'s RanParameterValue<'a>, Error> {
        match value_type {
            RanParameterValueType::ElementTrue(element) => Ok(&element.value),
            RanParameterValueType::ElementFalse(RanParameterElementFalse { value: Some(value) }) => Ok(value),
            RanParameterValueType::ElementFalse(_) => Err(self.fault(within, ParameterFault::Missing)),
            _ => Err(self.fault(within, ParameterFault::NotA("an element"))),
        }
    }

    /// The contents of the items with this name in an encoded structure of their list.
    ///
    /// RC 9.3.13 describes an item as a parameter with an ID, ASN.1 encodes a bare structure. Some senders put the item with
    /// its ID inside the bare structure, and some of them all items into the same one; each form is accepted.
    fn unwrapped<'s, 'a>(
        &self,
        structure: &'s RanParameterStructure<'a>,
    ) -> impl Iterator<Item = &'s [RanParameterItem<'a>]> + use<'s, 'a> {
        let (id, items) = (self.id, items_of(structure));
        let inner = move |item: &'s RanParameterItem<'a>| match &item.value_type {
            RanParameterValueType::Structure(inner) if item.ran_parameter_id == id => Some(items_of(&inner.structure)),
            _ => None,
        };
        let has_names = !items.is_empty() && items.iter().all(|item| inner(item).is_some());
        let named = if has_names { items } else { &[] };
        named.iter().filter_map(inner).chain((!has_names).then_some(items))
    }

    /// Returns the definition of its contents for a RAN function definition; `None` for an element.
    #[must_use]
    pub fn definition(&self) -> Option<RanParameterDefinition<'static>> {
        let item = |parameter: &KnownParameter| RanParameterDefinitionItem {
            ran_parameter_id: parameter.id,
            ran_parameter_name: RanParameterName(per::PrintableString::literal(parameter.name)),
            ran_parameter_definition: parameter.definition(),
        };
        let definition_choice = match self.shape {
            Shape::Structure(parts) => RanParameterDefinitionChoice::Structure(RanParameterDefinitionStructure {
                structure: parts.iter().map(item).collect(),
            }),
            Shape::List(of) => {
                RanParameterDefinitionChoice::List(RanParameterDefinitionList { list: List::from(vec![item(of)]) })
            }
            _ => return None,
        };
        Some(RanParameterDefinition { definition_choice })
    }
}

/// Extraction of values from parameters that were checked against a table with this parameter.
impl KnownParameter {
    /// Finds the parameter among others.
    pub(super) fn among<'s, 'a>(&self, items: &'s [RanParameterItem<'a>]) -> Option<&'s RanParameterValueType<'a>> {
        items.iter().find(|item| item.ran_parameter_id == self.id).map(|item| &item.value_type)
    }

    /// Finds the value of the parameter among others.
    pub(super) fn value_among<'s, 'a>(
        &self,
        items: &'s [RanParameterItem<'a>],
    ) -> Result<Option<&'s RanParameterValue<'a>>, Error> {
        self.among(items).map(|value_type| self.element(value_type, None)).transpose()
    }

    /// Returns an integer, if the parameter is present.
    pub(super) fn number<T: TryFrom<i64>>(&self, items: &[RanParameterItem<'_>]) -> Result<Option<T>, Error> {
        let number = |value: &RanParameterValue<'_>| match value {
            RanParameterValue::ValueInt(value) => {
                T::try_from(*value).map_err(|_| self.error(ParameterFault::OutOfRange))
            }
            RanParameterValue::ValueBoolean(value) => {
                T::try_from((*value).into()).map_err(|_| self.error(ParameterFault::OutOfRange))
            }
            _ => Err(self.error(ParameterFault::NotA("a whole number"))),
        };
        self.value_among(items)?.map(number).transpose()
    }

    /// Returns a mandatory integer.
    pub(super) fn required_number<T: TryFrom<i64>>(&self, items: &[RanParameterItem<'_>]) -> Result<T, Error> {
        self.number(items)?.ok_or_else(|| self.error(ParameterFault::Missing))
    }

    /// Returns a Boolean, if the parameter is present.
    pub(super) fn flag(&self, items: &[RanParameterItem<'_>]) -> Result<Option<bool>, Error> {
        Ok(self.number::<i64>(items)?.map(|value| value != 0))
    }

    /// Returns `N` octets, if the parameter is present.
    pub(super) fn octets<const N: usize>(&self, items: &[RanParameterItem<'_>]) -> Result<Option<[u8; N]>, Error> {
        let octets = |value: &RanParameterValue<'_>| match value {
            RanParameterValue::ValueOctS(octets) => {
                <[u8; N]>::try_from(&*octets.to_cow()).map_err(|_| self.error(ParameterFault::OutOfRange))
            }
            _ => Err(self.error(ParameterFault::NotA("octets"))),
        };
        self.value_among(items)?.map(octets).transpose()
    }

    /// Returns `N` mandatory octets.
    pub(super) fn required_octets<const N: usize>(&self, items: &[RanParameterItem<'_>]) -> Result<[u8; N], Error> {
        self.octets(items)?.ok_or_else(|| self.error(ParameterFault::Missing))
    }

    /// Returns the contents of a structure; empty if it is absent.
    pub(super) fn structure<'s, 'a>(&self, items: &'s [RanParameterItem<'a>]) -> &'s [RanParameterItem<'a>] {
        match self.among(items) {
            Some(RanParameterValueType::Structure(value)) => items_of(&value.structure),
            _ => &[],
        }
    }

    /// Returns the contents of each item of a list; empty if it is absent.
    pub(super) fn list<'s, 'a>(
        &self,
        items: &'s [RanParameterItem<'a>],
    ) -> impl Iterator<Item = &'s [RanParameterItem<'a>]> + use<'s, 'a> {
        let (of, list) = match (self.shape, self.among(items)) {
            (Shape::List(of), Some(RanParameterValueType::List(value))) => (Some(of), &value.list.list[..]),
            _ => (None, &[][..]),
        };
        list.iter().flat_map(move |structure| of.map(|of| of.unwrapped(structure)).into_iter().flatten())
    }
}

/// Construction of parameters.
impl KnownParameter {
    pub(super) fn element_of(&self, value: RanParameterValue<'static>) -> RanParameterItem<'static> {
        let value = Some(value);
        self.item(RanParameterValueType::ElementFalse(RanParameterElementFalse { value }))
    }

    pub(super) fn key_of(&self, value: RanParameterValue<'static>) -> RanParameterItem<'static> {
        self.item(RanParameterValueType::ElementTrue(RanParameterElementTrue { value }))
    }

    pub(super) fn structure_of(&self, items: Vec<RanParameterItem<'static>>) -> RanParameterItem<'static> {
        let structure = RanParameterStructure { parameters: Some(List::from(items)) };
        self.item(RanParameterValueType::Structure(RanParameterValueTypeStructure { structure }))
    }

    pub(super) fn list_of(
        &self,
        items: impl IntoIterator<Item = Vec<RanParameterItem<'static>>>,
    ) -> RanParameterItem<'static> {
        let structures = items.into_iter().map(|items| RanParameterStructure { parameters: Some(List::from(items)) });
        let list = RanParameterList { list: structures.collect() };
        self.item(RanParameterValueType::List(RanParameterValueTypeList { list }))
    }

    /// A list whose items are parameters with the item's ID, as RC 9.3.13 describes them.
    pub(super) fn list_of_items(
        &self,
        items: impl IntoIterator<Item = Vec<RanParameterItem<'static>>>,
    ) -> RanParameterItem<'static> {
        // a table without the item is a mistake in this crate
        let Shape::List(of) = self.shape else { panic!("{} is not a list", self.name) };
        self.list_of(items.into_iter().map(|items| vec![of.structure_of(items)]))
    }

    fn item(&self, value_type: RanParameterValueType<'static>) -> RanParameterItem<'static> {
        RanParameterItem { ran_parameter_id: self.id, value_type }
    }
}

pub(super) fn items_of<'s, 'a>(structure: &'s RanParameterStructure<'a>) -> &'s [RanParameterItem<'a>] {
    structure.parameters.as_deref().unwrap_or_default()
}

/// Builds an integer.
pub(super) fn number(value: impl Into<i64>) -> RanParameterValue<'static> {
    RanParameterValue::ValueInt(value.into())
}

/// Builds octets.
pub(super) fn octets(value: &[u8]) -> RanParameterValue<'static> {
    RanParameterValue::ValueOctS(Octets::from(value.to_vec()))
}

/// The type of a cell identity: the IE of TS 38.413, or only its contents: 3 octets of PLMN identity and 36 or 28 bits.
pub(super) const NR_CGI: Shape = Shape::Octets(8, 9);
pub(super) const EUTRA_CGI: Shape = Shape::Octets(7, 8);

/// A cell by NR or E-UTRA CGI, which are separate parameters.
pub(super) fn cell(of: &KnownParameter, items: &[RanParameterItem<'_>], is_nr: bool) -> Result<Cgi, Error> {
    let Some(RanParameterValue::ValueOctS(value)) = of.value_among(items)? else {
        return Err(of.error(ParameterFault::Missing));
    };
    let value = value.to_cow();
    let with_preamble: Vec<u8> = match (value.len(), is_nr) {
        (9, true) | (8, false) => value.to_vec(),
        _ => [0].iter().chain(&*value).copied().collect(),
    };
    let read = if is_nr {
        per::decode::<NrCgi>(&with_preamble, 0).map(Cgi::NrCgi)
    } else {
        per::decode::<EutraCgi>(&with_preamble, 0).map(Cgi::EutraCgi)
    };
    read.map_err(|_| of.error(ParameterFault::OutOfRange))
}

/// Builds the parameter: the IE of TS 38.413.
pub(super) fn cell_octets(cell: &Cgi) -> RanParameterValue<'static> {
    let mut bytes = Vec::new();
    let written = match cell {
        Cgi::NrCgi(cell) => per::encode(cell, 0, &mut bytes),
        Cgi::EutraCgi(cell) => per::encode(cell, 0, &mut bytes),
    };
    if let Err(error) = written {
        // the decoder checks the length of a peer's identity: otherwise the caller is at fault
        panic!("a cell identity has 36 or 28 bits: {error}");
    }
    octets(&bytes)
}
