//! RAN parameters as tables: what an action has, checked as a whole, with an account of what is wrong; and made.
//!
//! Each action that has a type of its own has such a table beside it. A table says all there is to say of what may be
//! sent: what a parameter is, within which bounds, and what is in it. Readers then only take the values out.

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

/// What is wrong with a RAN parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterError {
    /// Which parameter.
    pub id: RanParameterId,
    /// What the specification calls it; `None` where it is not one of the action's.
    pub name: Option<&'static str>,
    /// The structure or list that it is in, or would be.
    pub within: Option<&'static str>,
    /// What is wrong.
    pub fault: ParameterFault,
}

/// What can be wrong with a RAN parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterFault {
    /// It is not there.
    Missing,
    /// It is there twice.
    Twice,
    /// It is not what it should be: an element with a value of some kind, a structure, a list.
    NotA(&'static str),
    /// Its value is none of those that it may have.
    OutOfRange,
    /// The action has no such parameter there.
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
            ParameterFault::Twice => f.write_str(" is there twice")?,
            ParameterFault::NotA(what) => write!(f, " is not {what}")?,
            ParameterFault::OutOfRange => f.write_str(" is out of range")?,
            ParameterFault::Unknown => f.write_str(" is not one of this action's")?,
        }
        self.within.map_or(Ok(()), |within| write!(f, ", in {within}"))
    }
}

/// A RAN parameter as the specification has it in an action's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownParameter {
    /// Its number.
    pub id: RanParameterId,
    /// Its name.
    pub name: &'static str,
    /// Whether it has to be there where what it is in is there.
    pub is_required: bool,
    /// What it is.
    pub shape: Shape,
}

/// What a RAN parameter is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A whole number, or one of an enumeration: these and those between.
    Number(i64, i64),
    /// Octets, so many at least and at most.
    Octets(usize, usize),
    /// A truth value, which some send as 0 or 1.
    Flag,
    /// A structure of these.
    Structure(&'static [KnownParameter]),
    /// A list of such structures.
    List(&'static KnownParameter),
}

pub(super) const fn required(id: u32, name: &'static str, shape: Shape) -> KnownParameter {
    known(id, name, true, shape)
}

pub(super) const fn optional(id: u32, name: &'static str, shape: Shape) -> KnownParameter {
    known(id, name, false, shape)
}

/// The tables are constants: one with a list of what is no structure does not compile.
const fn known(id: u32, name: &'static str, is_required: bool, shape: Shape) -> KnownParameter {
    if let Shape::List(item) = shape {
        assert!(matches!(item.shape, Shape::Structure(_)), "a list is one of structures");
    }
    KnownParameter { id: RanParameterId(id), name, is_required, shape }
}

/// Checks an action's parameters against its table. What the table does not have is refused: to act on a part of what
/// was asked would be to misunderstand it.
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

    /// What no table can say.
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
                // `known` has seen to it when this was compiled; what a peer sent only chooses among the tables
                let Shape::Structure(parts) = item.shape else { panic!("{} is no structure", item.name) };
                let mut each = value.list.list.iter().map(|structure| item.unwrapped(structure));
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

    /// The value of an element; the key flag is as senders like it.
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

    /// The items of a list's structure, of which this is the name.
    ///
    /// On the wire an item is a bare structure, and the item's own number stands nowhere. Some senders put it there all
    /// the same, as a structure with that number within the bare one; both are read.
    fn unwrapped<'s, 'a>(&self, structure: &'s RanParameterStructure<'a>) -> &'s [RanParameterItem<'a>] {
        match items_of(structure) {
            [RanParameterItem { ran_parameter_id, value_type: RanParameterValueType::Structure(inner) }]
                if *ran_parameter_id == self.id =>
            {
                items_of(&inner.structure)
            }
            items => items,
        }
    }

    /// What RAN function definitions tell of what is in it; `None` for an element.
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

/// Taking values out of what was checked against a table that has the parameter.
impl KnownParameter {
    /// The parameter among others.
    pub(super) fn among<'s, 'a>(&self, items: &'s [RanParameterItem<'a>]) -> Option<&'s RanParameterValueType<'a>> {
        items.iter().find(|item| item.ran_parameter_id == self.id).map(|item| &item.value_type)
    }

    /// The parameter's value among others.
    pub(super) fn value_among<'s, 'a>(
        &self,
        items: &'s [RanParameterItem<'a>],
    ) -> Result<Option<&'s RanParameterValue<'a>>, Error> {
        self.among(items).map(|value_type| self.element(value_type, None)).transpose()
    }

    /// A whole number, where the parameter is there.
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

    /// A whole number that has to be there.
    pub(super) fn required_number<T: TryFrom<i64>>(&self, items: &[RanParameterItem<'_>]) -> Result<T, Error> {
        self.number(items)?.ok_or_else(|| self.error(ParameterFault::Missing))
    }

    /// A truth value, where the parameter is there.
    pub(super) fn flag(&self, items: &[RanParameterItem<'_>]) -> Result<Option<bool>, Error> {
        Ok(self.number::<i64>(items)?.map(|value| value != 0))
    }

    /// As many octets as that, where the parameter is there.
    pub(super) fn octets<const N: usize>(&self, items: &[RanParameterItem<'_>]) -> Result<Option<[u8; N]>, Error> {
        let octets = |value: &RanParameterValue<'_>| match value {
            RanParameterValue::ValueOctS(octets) => {
                <[u8; N]>::try_from(&*octets.to_cow()).map_err(|_| self.error(ParameterFault::OutOfRange))
            }
            _ => Err(self.error(ParameterFault::NotA("octets"))),
        };
        self.value_among(items)?.map(octets).transpose()
    }

    /// As many octets as that, which have to be there.
    pub(super) fn required_octets<const N: usize>(&self, items: &[RanParameterItem<'_>]) -> Result<[u8; N], Error> {
        self.octets(items)?.ok_or_else(|| self.error(ParameterFault::Missing))
    }

    /// What is in a structure; nothing where it is not there.
    pub(super) fn structure<'s, 'a>(&self, items: &'s [RanParameterItem<'a>]) -> &'s [RanParameterItem<'a>] {
        match self.among(items) {
            Some(RanParameterValueType::Structure(value)) => items_of(&value.structure),
            _ => &[],
        }
    }

    /// What is in each item of a list; no item where it is not there.
    pub(super) fn list<'s, 'a>(
        &self,
        items: &'s [RanParameterItem<'a>],
    ) -> impl Iterator<Item = &'s [RanParameterItem<'a>]> + use<'s, 'a> {
        let (of, list) = match (self.shape, self.among(items)) {
            (Shape::List(of), Some(RanParameterValueType::List(value))) => (Some(of), &value.list.list[..]),
            _ => (None, &[][..]),
        };
        list.iter().filter_map(move |structure| Some(of?.unwrapped(structure)))
    }
}

/// Making parameters.
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

    fn item(&self, value_type: RanParameterValueType<'static>) -> RanParameterItem<'static> {
        RanParameterItem { ran_parameter_id: self.id, value_type }
    }
}

fn items_of<'s, 'a>(structure: &'s RanParameterStructure<'a>) -> &'s [RanParameterItem<'a>] {
    structure.parameters.as_deref().unwrap_or_default()
}

/// A whole number.
pub(super) fn number(value: impl Into<i64>) -> RanParameterValue<'static> {
    RanParameterValue::ValueInt(value.into())
}

/// Octets.
pub(super) fn octets(value: &[u8]) -> RanParameterValue<'static> {
    RanParameterValue::ValueOctS(Octets::from(value.to_vec()))
}

/// The shape of a cell's identity: the IE of TS 38.413, or just what is in it: 3 octets of PLMN identity, and 36 or 28
/// bits.
pub(super) const NR_CGI: Shape = Shape::Octets(8, 9);
pub(super) const EUTRA_CGI: Shape = Shape::Octets(7, 8);

/// A cell by its identity of NR or E-UTRA, each a parameter of its own.
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

/// The same, to be written: the IE of TS 38.413.
pub(super) fn cell_octets(cell: &Cgi) -> RanParameterValue<'static> {
    let mut bytes = Vec::new();
    let written = match cell {
        Cgi::NrCgi(cell) => per::encode(cell, 0, &mut bytes),
        Cgi::EutraCgi(cell) => per::encode(cell, 0, &mut bytes),
    };
    if let Err(error) = written {
        // read from a peer it has them, since reading checks the length; else it is the caller's misuse
        panic!("a cell identity has 36 or 28 bits: {error}");
    }
    octets(&bytes)
}
