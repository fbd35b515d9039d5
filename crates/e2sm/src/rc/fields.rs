//! RAN parameters by name: reading them with an account of what is wrong, and making them.

use core::fmt;

use per::{List, Octets};

use super::{
    RanParameterElementFalse, RanParameterElementTrue, RanParameterId, RanParameterItem, RanParameterList,
    RanParameterStructure, RanParameterValue, RanParameterValueType, RanParameterValueTypeList,
    RanParameterValueTypeStructure,
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
    /// What is wrong.
    pub fault: ParameterFault,
}

/// What can be wrong with a RAN parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterFault {
    /// It is not there.
    Missing,
    /// It is not what it should be: an element with a value of some kind, a structure, a list.
    NotA(&'static str),
    /// Its value is none of those that it may have.
    OutOfRange,
    /// The action has no such parameter.
    Unknown,
}

impl fmt::Display for ParameterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RAN parameter {}", self.id.0)?;
        if let Some(name) = self.name {
            write!(f, " ({name})")?;
        }
        match self.fault {
            ParameterFault::Missing => f.write_str(" is missing"),
            ParameterFault::NotA(what) => write!(f, " is not {what}"),
            ParameterFault::OutOfRange => f.write_str(" is out of range"),
            ParameterFault::Unknown => f.write_str(" is not one of this action's"),
        }
    }
}

/// A parameter's number and name in the specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Name(pub u32, pub &'static str);

impl Name {
    pub(super) const fn id(self) -> RanParameterId {
        RanParameterId(self.0)
    }

    pub(super) fn error(self, fault: ParameterFault) -> Error {
        Error::Parameter(ParameterError { id: self.id(), name: Some(self.1), fault })
    }

    /// The parameter among others.
    pub(super) fn among<'s, 'a>(self, items: &'s [RanParameterItem<'a>]) -> Option<&'s RanParameterValueType<'a>> {
        items.iter().find(|item| item.ran_parameter_id == self.id()).map(|item| &item.value_type)
    }

    pub(super) fn required<'s, 'a>(
        self,
        items: &'s [RanParameterItem<'a>],
    ) -> Result<&'s RanParameterValueType<'a>, Error> {
        self.among(items).ok_or_else(|| self.error(ParameterFault::Missing))
    }

    /// The value of an element; the key flag is as senders like it.
    pub(super) fn value<'s, 'a>(
        self,
        value_type: &'s RanParameterValueType<'a>,
    ) -> Result<&'s RanParameterValue<'a>, Error> {
        match value_type {
            RanParameterValueType::ElementTrue(element) => Ok(&element.value),
            RanParameterValueType::ElementFalse(RanParameterElementFalse { value: Some(value) }) => Ok(value),
            RanParameterValueType::ElementFalse(_) => Err(self.error(ParameterFault::Missing)),
            _ => Err(self.error(ParameterFault::NotA("an element"))),
        }
    }

    /// A whole number within bounds.
    pub(super) fn integer<T: TryFrom<i64> + PartialOrd>(
        self,
        value_type: &RanParameterValueType<'_>,
        lo: T,
        hi: T,
    ) -> Result<T, Error> {
        match self.value(value_type)? {
            RanParameterValue::ValueInt(value) => T::try_from(*value)
                .ok()
                .filter(|value| *value >= lo && *value <= hi)
                .ok_or_else(|| self.error(ParameterFault::OutOfRange)),
            _ => Err(self.error(ParameterFault::NotA("a whole number"))),
        }
    }

    /// As many octets as that.
    pub(super) fn octets<const N: usize>(self, value_type: &RanParameterValueType<'_>) -> Result<[u8; N], Error> {
        let RanParameterValue::ValueOctS(octets) = self.value(value_type)? else {
            return Err(self.error(ParameterFault::NotA("octets")));
        };
        <[u8; N]>::try_from(&*octets.to_cow()).map_err(|_| self.error(ParameterFault::OutOfRange))
    }

    /// What is in a structure.
    pub(super) fn structure<'s, 'a>(
        self,
        value_type: &'s RanParameterValueType<'a>,
    ) -> Result<&'s [RanParameterItem<'a>], Error> {
        match value_type {
            RanParameterValueType::Structure(value) => Ok(parts(&value.structure)),
            _ => Err(self.error(ParameterFault::NotA("a structure"))),
        }
    }

    /// The items of a list, each of which the specification gives the name `item`.
    ///
    /// On the wire an item is a bare structure, and the item's own number stands nowhere. Some senders put it there all
    /// the same, as a structure with that number within the bare one; both are read.
    pub(super) fn list<'s, 'a>(
        self,
        value_type: &'s RanParameterValueType<'a>,
        item: Name,
    ) -> Result<impl Iterator<Item = &'s [RanParameterItem<'a>]> + use<'s, 'a>, Error> {
        let RanParameterValueType::List(value) = value_type else {
            return Err(self.error(ParameterFault::NotA("a list")));
        };
        Ok(value.list.list.iter().map(move |structure| match parts(structure) {
            [RanParameterItem { ran_parameter_id, value_type: RanParameterValueType::Structure(inner) }]
                if *ran_parameter_id == item.id() =>
            {
                parts(&inner.structure)
            }
            items => items,
        }))
    }

    pub(super) fn element(self, value: RanParameterValue<'static>) -> RanParameterItem<'static> {
        let value = Some(value);
        self.item(RanParameterValueType::ElementFalse(RanParameterElementFalse { value }))
    }

    pub(super) fn key(self, value: RanParameterValue<'static>) -> RanParameterItem<'static> {
        self.item(RanParameterValueType::ElementTrue(RanParameterElementTrue { value }))
    }

    pub(super) fn structure_of(self, items: Vec<RanParameterItem<'static>>) -> RanParameterItem<'static> {
        let structure = RanParameterStructure { parameters: Some(List::from(items)) };
        self.item(RanParameterValueType::Structure(RanParameterValueTypeStructure { structure }))
    }

    pub(super) fn list_of(
        self,
        items: impl IntoIterator<Item = Vec<RanParameterItem<'static>>>,
    ) -> RanParameterItem<'static> {
        let structures = items.into_iter().map(|items| RanParameterStructure { parameters: Some(List::from(items)) });
        let list = RanParameterList { list: structures.collect() };
        self.item(RanParameterValueType::List(RanParameterValueTypeList { list }))
    }

    fn item(self, value_type: RanParameterValueType<'static>) -> RanParameterItem<'static> {
        RanParameterItem { ran_parameter_id: self.id(), value_type }
    }
}

fn parts<'s, 'a>(structure: &'s RanParameterStructure<'a>) -> &'s [RanParameterItem<'a>] {
    structure.parameters.as_deref().unwrap_or_default()
}

/// Refuses parameters that are none of the action's: to act on a part of what was asked would be to misunderstand it.
pub(super) fn only(items: &[RanParameterItem<'_>], known: &[Name]) -> Result<(), Error> {
    let unknown = items.iter().find(|item| known.iter().all(|name| name.id() != item.ran_parameter_id));
    unknown.map_or(Ok(()), |item| {
        let (id, fault) = (item.ran_parameter_id, ParameterFault::Unknown);
        Err(Error::Parameter(ParameterError { id, name: None, fault }))
    })
}

/// A whole number.
pub(super) fn integer(value: impl Into<i64>) -> RanParameterValue<'static> {
    RanParameterValue::ValueInt(value.into())
}

/// Octets.
pub(super) fn octets(value: &[u8]) -> RanParameterValue<'static> {
    RanParameterValue::ValueOctS(Octets::from(value.to_vec()))
}

/// A cell by its identity of NR or E-UTRA, each a parameter of its own.
pub(super) fn cell(name: Name, value_type: &RanParameterValueType<'_>, is_nr: bool) -> Result<Cgi, Error> {
    let RanParameterValue::ValueOctS(value) = name.value(value_type)? else {
        return Err(name.error(ParameterFault::NotA("octets")));
    };
    let value = value.to_cow();
    // the IE of TS 38.413, or just what is in it: 3 octets of PLMN identity, and 36 or 28 bits
    let with_preamble: Vec<u8> = match (value.len(), is_nr) {
        (9, true) | (8, false) => value.to_vec(),
        (8, true) | (7, false) => [0].iter().chain(&*value).copied().collect(),
        _ => return Err(name.error(ParameterFault::OutOfRange)),
    };
    let read = if is_nr {
        per::decode::<NrCgi>(&with_preamble, 0).map(Cgi::NrCgi)
    } else {
        per::decode::<EutraCgi>(&with_preamble, 0).map(Cgi::EutraCgi)
    };
    read.map_err(|_| name.error(ParameterFault::OutOfRange))
}

/// The same, to be written: the IE of TS 38.413.
pub(super) fn cell_octets(cell: &Cgi) -> RanParameterValue<'static> {
    let mut bytes = Vec::new();
    let written = match cell {
        Cgi::NrCgi(cell) => per::encode(cell, 0, &mut bytes),
        Cgi::EutraCgi(cell) => per::encode(cell, 0, &mut bytes),
    };
    if let Err(error) = written {
        panic!("a cell identity has 36 or 28 bits: {error}");
    }
    octets(&bytes)
}
