//! Lists whose items are each wrapped in a protocol IE container.

use core::fmt;
use core::ops::Deref;

use per::{Decode, Describe, Encode, Error, ErrorKind, IntoOwned, List, Reader, Size, Store, Visitor, Writer};

use crate::{Criticality, ProtocolIeId};

/// A list item that E2AP wraps in a container.
pub trait Item {
    /// The IE id of the container.
    const ID: ProtocolIeId;
    /// The criticality of the container.
    const CRITICALITY: Criticality;
    /// The maximum number of items.
    const MAX: usize;
    /// The minimum number of items, by revision: v1 allows some lists to be empty.
    fn min(revision: u8) -> usize;
}

/// Declares an [`Item`]: id, criticality, size of the list.
macro_rules! item {
    ($name:ident $(<$lt:lifetime>)?: $id:literal $criticality:ident $min:literal..=$max:literal $(, from $v1:literal in v1)?) => {
        impl $(<$lt>)? crate::items::Item for $name $(<$lt>)? {
            const ID: crate::ProtocolIeId = crate::ProtocolIeId($id);
            const CRITICALITY: crate::Criticality = crate::Criticality::$criticality;
            const MAX: usize = $max;
            #[allow(unused_variables)]
            fn min(revision: u8) -> usize {
                $(if revision < crate::Version::V2_03.revision() { return $v1; })?
                $min
            }
        }
    };
}
pub(crate) use item;

/// A list of items, each in a container.
///
/// Peers write other criticalities into the containers than E2AP's tables have (FlexRIC: reject for RAN functions).
/// Nothing depends on them, since the items of a list are mandatory. The criticality of the last container is kept for all
/// of them, so that a list of such a peer encodes to the same octets again.
#[derive(Clone)]
pub struct Items<'a, T> {
    list: List<'a, T>,
    /// The criticality of the last container, if it differs from the table's.
    criticality: Option<Criticality>,
}

impl<T> Default for Items<'_, T> {
    fn default() -> Self {
        Items::from(List::default())
    }
}

impl<'a, T> From<List<'a, T>> for Items<'a, T> {
    fn from(list: List<'a, T>) -> Self {
        Items { list, criticality: None }
    }
}

impl<T> Items<'_, T> {
    /// Sets the criticality in the containers, for a peer that expects another one than that of E2AP's tables.
    #[must_use]
    pub fn marked(mut self, criticality: Criticality) -> Self {
        self.criticality = Some(criticality);
        self
    }
}

impl<T: PartialEq> PartialEq for Items<'_, T> {
    fn eq(&self, other: &Self) -> bool {
        self.list == other.list
    }
}

impl<T: Eq> Eq for Items<'_, T> {}

impl<T: fmt::Debug> fmt::Debug for Items<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.list.fmt(f)
    }
}

impl<T> Deref for Items<'_, T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.list
    }
}

impl<T> From<Vec<T>> for Items<'_, T> {
    fn from(items: Vec<T>) -> Self {
        Items::from(List::from(items))
    }
}

impl<T> FromIterator<T> for Items<'_, T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Items::from(items.into_iter().collect::<List<'_, T>>())
    }
}

impl<'s, T> IntoIterator for &'s Items<'_, T> {
    type Item = &'s T;
    type IntoIter = core::slice::Iter<'s, T>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

fn size<T: Item>(revision: u8) -> Size {
    Size { lo: T::min(revision), hi: T::MAX, extensible: false }
}

impl<'a, S: Store<'a>, T: Item + Decode<'a, S>> Decode<'a, S> for Items<'a, T> {
    fn decode_after(reader: &mut Reader<'a, S>, _: Option<&Self>) -> Result<Self, Error> {
        let size = size::<T>(reader.revision());
        let mut kept = None;
        let list = List::decode_items(reader, size, |reader, before| {
            let at = reader.position();
            let id = ProtocolIeId::decode(reader)?;
            let criticality = Criticality::decode(reader)?;
            kept = (criticality != T::CRITICALITY).then_some(criticality);
            if id != T::ID {
                return Err(Error::new(ErrorKind::UnknownIndex, at));
            }
            reader.open_type(|reader| T::decode_after(reader, before))
        })?;
        Ok(Items { list, criticality: kept })
    }
}

impl<T: Item + Encode> Encode for Items<'_, T> {
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        let size = size::<T>(writer.revision());
        let criticality = self.criticality.unwrap_or(T::CRITICALITY);
        self.list.encode_items(writer, size, |item, writer| {
            T::ID.encode(writer)?;
            criticality.encode(writer)?;
            writer.open_type(item.size_hint(), |writer| item.encode(writer))
        })
    }

    fn size_hint(&self) -> usize {
        self.iter().map(|item| item.size_hint() + 4).sum()
    }
}

per::if_flat! {
    impl<'a, T: per::flat::Type> per::flat::Type for Items<'a, T> {
        const WIDTH: u8 = 4;
        const KIND: per::flat::Kind = <List<'a, T> as per::flat::Type>::KIND;
        fn declare(schema: &mut per::flat::Schema) -> per::flat::schema::Type {
            <List<'a, T> as per::flat::Type>::declare(schema)
        }
    }

    impl<'a, S: Store<'a>, T: Item + per::flat::Decode<'a, S>> per::flat::Decode<'a, S> for Items<'a, T> {
        fn read(reader: &mut per::flat::Reader<'a, S>, place: usize) -> Result<Self, Error> {
            let size = size::<T>(reader.revision());
            per::flat::DecodeSized::read_sized(reader, place, size).map(|list: List<'a, T>| Items::from(list))
        }
    }

    impl<T: Item + per::flat::Encode> per::flat::Encode for Items<'_, T> {
        fn write(&self, writer: &mut per::flat::Writer<'_>, place: usize) -> Result<(), Error> {
            let size = size::<T>(writer.revision());
            per::flat::EncodeSized::write_sized(&self.list, writer, place, size)
        }
    }
}

impl<T: IntoOwned + Clone> IntoOwned for Items<'_, T> {
    type Owned = Items<'static, T::Owned>;
    fn into_owned(self) -> Self::Owned {
        Items { list: self.list.into_owned(), criticality: self.criticality }
    }
}

impl<T: Describe> Describe for Items<'_, T> {
    fn describe(&self, visitor: &mut dyn Visitor) {
        self.list.describe(visitor);
    }
}
