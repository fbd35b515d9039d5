//! Lists (SEQUENCE OF), the storage of their items, and memoization of repeated items.

use core::cell::{Cell, OnceCell};
use core::fmt;
use core::hash::{Hash, Hasher};
use core::ops::Deref;

use crate::reader::Length;
use crate::{
    Decode, DecodeSized, Describe, Encode, EncodeSized, Error, ErrorKind, IntoOwned, Reader, Size, Visitor, Writer,
};

/// The storage of decoded lists and gathered fragments.
///
/// [`Heap`] is the default. A service model that reads thousands of items a second can supply an arena.
pub trait Store<'a>: Copy {
    /// A growing list.
    type ListBuilder<T: 'a>: ListBuilder<'a, T>;

    /// Creates a list for `count` items. The count is from the encoding and not trusted.
    fn begin<T: 'a>(self, count: usize) -> Self::ListBuilder<T>;

    /// Creates a list of `count` items. The caller vouches for the count: the octets of all items have arrived.
    fn fill<T: 'a>(self, count: usize, item: impl FnMut() -> T) -> List<'a, T>;

    /// Stores gathered octets, or returns them if this store cannot keep any.
    ///
    /// # Errors
    /// The octets.
    fn keep(self, octets: Vec<u8>) -> Result<&'a [u8], Vec<u8>>;
}

/// Stores each list in a `Vec`, and fragments in a [`Gather`], if there is one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Heap<'a> {
    gather: Option<&'a Gather>,
}

impl<'a> Heap<'a> {
    /// Creates a store that can gather open types of 16384 octets or more.
    #[must_use]
    pub fn gathering(gather: &'a Gather) -> Self {
        Heap { gather: Some(gather) }
    }
}

/// A growing list in a [`Store`].
pub trait ListBuilder<'a, T> {
    /// The last item.
    fn last(&self) -> Option<&T>;
    /// Appends an item.
    fn push(&mut self, item: T);
    /// Finishes the list.
    fn end(self) -> List<'a, T>;
}

impl<'a, T: 'a> ListBuilder<'a, T> for Vec<T> {
    #[inline]
    fn last(&self) -> Option<&T> {
        <[T]>::last(self)
    }
    #[inline]
    fn push(&mut self, item: T) {
        Vec::push(self, item);
    }
    #[inline]
    fn end(self) -> List<'a, T> {
        List::Owned(self)
    }
}

impl<'a> Store<'a> for Heap<'a> {
    type ListBuilder<T: 'a> = Vec<T>;

    #[inline]
    fn begin<T: 'a>(self, count: usize) -> Vec<T> {
        // Most lists are short, and longer ones can grow as their items are read.
        Vec::with_capacity(count.min(64))
    }

    #[inline]
    fn fill<T: 'a>(self, count: usize, item: impl FnMut() -> T) -> List<'a, T> {
        List::Owned(core::iter::repeat_with(item).take(count).collect())
    }

    fn keep(self, octets: Vec<u8>) -> Result<&'a [u8], Vec<u8>> {
        match self.gather {
            Some(gather) => Ok(gather.keep(octets)),
            None => Err(octets),
        }
    }
}

/// Gathered octets. It lives as long as the values that borrow from it. It has the size of a pointer until it is used, which
/// is rare.
#[derive(Debug, Default)]
pub struct Gather(OnceCell<Box<Gathered>>);

#[derive(Debug)]
struct Gathered {
    count: Cell<usize>,
    /// Each bucket has twice the capacity of the previous one. A bucket does not move when the next one is added.
    buckets: [OnceCell<Bucket>; usize::BITS as usize],
}

type Bucket = Box<[OnceCell<Vec<u8>>]>;

impl Gather {
    /// Creates a store without octets.
    #[must_use]
    pub const fn new() -> Self {
        Gather(OnceCell::new())
    }

    /// Stores `octets`.
    pub fn keep(&self, octets: Vec<u8>) -> &[u8] {
        let Gathered { count, buckets } = &**self.0.get_or_init(|| {
            Box::new(Gathered { count: Cell::new(0), buckets: [const { OnceCell::new() }; usize::BITS as usize] })
        });
        let number = count.get() + 1;
        count.set(number);
        let bucket = number.ilog2();
        let places = buckets[bucket as usize].get_or_init(|| (0..1usize << bucket).map(|_| OnceCell::new()).collect());
        places[number - (1 << bucket)].get_or_init(|| octets)
    }
}

/// A SEQUENCE OF: a slice of items, borrowed from an arena or owned.
#[derive(Clone)]
pub enum List<'a, T> {
    /// Borrowed items.
    Borrowed(&'a [T]),
    /// Owned items.
    Owned(Vec<T>),
}

impl<T> Deref for List<'_, T> {
    type Target = [T];
    #[inline]
    fn deref(&self) -> &[T] {
        match self {
            List::Borrowed(items) => items,
            List::Owned(items) => items,
        }
    }
}

impl<T> Default for List<'_, T> {
    fn default() -> Self {
        List::Borrowed(&[])
    }
}

impl<T> From<Vec<T>> for List<'_, T> {
    fn from(items: Vec<T>) -> Self {
        List::Owned(items)
    }
}

impl<'a, T> From<&'a [T]> for List<'a, T> {
    fn from(items: &'a [T]) -> Self {
        List::Borrowed(items)
    }
}

impl<T> FromIterator<T> for List<'_, T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        List::Owned(items.into_iter().collect())
    }
}

impl<'s, T> IntoIterator for &'s List<'_, T> {
    type Item = &'s T;
    type IntoIter = core::slice::Iter<'s, T>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<T: PartialEq> PartialEq for List<'_, T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Eq> Eq for List<'_, T> {}

impl<T: Hash> Hash for List<'_, T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl<T: fmt::Debug> fmt::Debug for List<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<T: IntoOwned + Clone> IntoOwned for List<'_, T> {
    type Owned = List<'static, T::Owned>;
    fn into_owned(self) -> List<'static, T::Owned> {
        // Plain loops: they are compiled for every item type, and the code of an in-place collect is long.
        let mut owned = Vec::with_capacity(self.len());
        match self {
            List::Borrowed(items) => {
                for item in items {
                    owned.push(item.clone().into_owned());
                }
            }
            List::Owned(items) => {
                for item in items {
                    owned.push(item.into_owned());
                }
            }
        }
        List::Owned(owned)
    }
}

impl<'a, S: Store<'a>, T: Decode<'a, S>> DecodeSized<'a, S> for List<'a, T> {
    #[inline]
    fn decode_sized(reader: &mut Reader<'a, S>, size: Size, _: Option<&Self>) -> Result<Self, Error> {
        let progress = Progress::begin(reader, size)?;
        if progress.is_last
            && let Some(list) = T::decode_list_shortcut(reader, progress.left)
        {
            return Ok(list);
        }
        Self::decode_each(reader, progress, T::decode_shortcut::<S::ListBuilder<T>>, T::decode_after)
    }
}

impl<'a, T> List<'a, T> {
    /// Reads a list whose items are wrapped, for example in a protocol IE container; `item` removes the wrapper.
    ///
    /// # Errors
    /// The errors of `item`; a length outside `size`.
    #[inline(always)]
    pub fn decode_items<S: Store<'a>>(
        reader: &mut Reader<'a, S>,
        size: Size,
        item: impl FnMut(&mut Reader<'a, S>, Option<&T>) -> Result<T, Error>,
    ) -> Result<Self, Error> {
        let progress = Progress::begin(reader, size)?;
        Self::decode_each(reader, progress, |_, _, _| 0, item)
    }

    /// Reads items with `shortcut`, and those to which it does not apply with `item`.
    #[inline(always)]
    fn decode_each<S: Store<'a>>(
        reader: &mut Reader<'a, S>,
        mut progress: Progress,
        mut shortcut: impl FnMut(&mut Reader<'a, S>, usize, &mut S::ListBuilder<T>) -> usize,
        mut item: impl FnMut(&mut Reader<'a, S>, Option<&T>) -> Result<T, Error>,
    ) -> Result<Self, Error> {
        let mut items = reader.store().begin(progress.left);
        reader.descend()?;
        let result = loop {
            if progress.left == 0 {
                if progress.is_last {
                    break Ok(());
                }
                progress = match progress.next_fragment(reader) {
                    Ok(next) => next,
                    Err(error) => break Err(error),
                };
                continue;
            }
            let read = shortcut(reader, progress.left, &mut items);
            debug_assert!(read <= progress.left);
            progress.left -= read;
            if progress.left == 0 {
                continue;
            }
            progress.left -= 1;
            match item(reader, items.last()) {
                Ok(item) => items.push(item),
                Err(error) => break Err(error),
            }
        };
        reader.ascend();
        match result {
            Ok(()) => Ok(items.end()),
            Err(error) => Err(error),
        }
    }

    /// The writing side of [`List::decode_items`].
    ///
    /// # Errors
    /// The errors of `item`; a length outside `size`.
    #[inline]
    pub fn encode_items(
        &self,
        writer: &mut Writer<'_>,
        size: Size,
        mut item: impl FnMut(&T, &mut Writer<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut rest = &self[..];
        let (mut count, mut is_last) = writer.begin_list(rest.len(), size)?;
        loop {
            let (part, later) = rest.split_at(count);
            for i in part {
                item(i, writer)?;
            }
            if is_last {
                return Ok(());
            }
            rest = later;
            (count, is_last) = writer.next_fragment(rest.len());
        }
    }
}

/// The progress of reading a list.
#[derive(Clone, Copy)]
struct Progress {
    bounds: Size,
    /// The bit where the list begins.
    at: usize,
    /// The items announced so far.
    total: usize,
    /// The announced items that are not read yet.
    left: usize,
    /// Whether no fragment follows.
    is_last: bool,
}

impl Progress {
    // inlined: short if the size is known at compile time
    #[inline(always)]
    fn begin<'a, S: Store<'a>>(reader: &mut Reader<'a, S>, size: Size) -> Result<Progress, Error> {
        let bounds = reader.effective_size(size)?;
        let at = reader.position();
        let length = if bounds.is_fixed() { Length::Whole(bounds.lo) } else { reader.sized_length(bounds)? };
        Progress { bounds, at, total: 0, left: 0, is_last: false }.announce(reader, length)
    }

    /// Counts the items that a length determinant announces.
    #[inline(always)]
    fn announce<'a, S: Store<'a>>(self, reader: &mut Reader<'a, S>, length: Length) -> Result<Progress, Error> {
        let (Length::Whole(count) | Length::Fragment(count)) = length;
        let total = self.total + count;
        let is_last = matches!(length, Length::Whole(_));
        if total > self.bounds.hi {
            return Err(reader.error(ErrorKind::BadLength));
        }
        if is_last && total < self.bounds.lo {
            return Err(Error::new(ErrorKind::BadLength, self.at));
        }
        reader.take_items(count)?;
        Ok(Progress { total, left: count, is_last, ..self })
    }

    /// Reads the length of the next fragment (X.691 11.9.3.8: a list of more than 16383 items is fragmented).
    #[cold]
    fn next_fragment<'a, S: Store<'a>>(self, reader: &mut Reader<'a, S>) -> Result<Progress, Error> {
        let length = reader.length()?;
        self.announce(reader, length)
    }
}

impl<'a, S: Store<'a>, T: Decode<'a, S>> Decode<'a, S> for List<'a, T> {
    fn decode_after(reader: &mut Reader<'a, S>, before: Option<&Self>) -> Result<Self, Error> {
        Self::decode_sized(reader, Size::ANY, before)
    }
}

impl<T: Encode> EncodeSized for List<'_, T> {
    #[inline]
    fn encode_sized(&self, writer: &mut Writer<'_>, size: Size) -> Result<(), Error> {
        self.encode_items(writer, size, T::encode)
    }
}

impl<T: Encode> Encode for List<'_, T> {
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        self.encode_sized(writer, Size::ANY)
    }

    #[inline]
    fn size_hint(&self) -> usize {
        let mut octets = 0;
        for item in self {
            octets += item.size_hint();
        }
        octets
    }
}

impl<T: Describe> Describe for List<'_, T> {
    fn describe(&self, visitor: &mut dyn Visitor) {
        visitor.begin_list();
        for item in self {
            item.describe(visitor);
        }
        visitor.end_list();
    }
}

/// A value with the bits that it was decoded from. If the next item of a list has the same bits, its value is copied and not
/// decoded again. KPM repeats a list of measurement names for every UE.
#[derive(Clone)]
pub struct Memo<'a, T> {
    value: T,
    /// The position of the bits: the octets that contain them, the offset in the first octet, and the number of bits.
    octets: &'a [u8],
    offset: usize,
    bits: usize,
    /// The number of list items in the value. They count against the budget of a PDU at each repetition.
    items: u32,
}

impl<T> Deref for Memo<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> From<T> for Memo<'_, T> {
    fn from(value: T) -> Self {
        Memo { value, octets: &[], offset: 0, bits: 0, items: 0 }
    }
}

impl<T: PartialEq> PartialEq for Memo<'_, T> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl<T: fmt::Debug> fmt::Debug for Memo<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

impl<T> Memo<'_, T> {
    /// Whether the next bits of the reader are equal and at the same position within an octet.
    fn repeats<'a, S: Store<'a>>(&self, reader: &Reader<'a, S>) -> bool {
        let at = reader.position();
        if self.bits == 0 || self.bits > reader.remaining() || at & 7 != self.offset {
            return false;
        }
        let start = at >> 3;
        let Some(there) = reader.bytes().get(start..start + self.octets.len()) else {
            return false;
        };
        let (first, last) = (0xFFu8 >> self.offset, 0xFFu8 << ((8 - (self.offset + self.bits) % 8) % 8));
        match (self.octets, there) {
            ([a], [b]) => (a ^ b) & first & last == 0,
            ([a, am @ .., az], [b, bm @ .., bz]) => (a ^ b) & first == 0 && (az ^ bz) & last == 0 && am == bm,
            _ => false,
        }
    }
}

impl<'a, T> Memo<'a, List<'a, T>> {
    /// Returns the value again if it is in an arena and `octets` begin with its encoding, which both begins and ends at an octet
    /// boundary; with the number of its list items, which the caller counts with [`Reader::take_items`], and the octets behind it.
    #[inline(always)]
    #[must_use]
    pub fn repeated_in<'o>(&self, octets: &'o [u8]) -> Option<(Self, usize, &'o [u8])> {
        let List::Borrowed(items) = self.value else { return None };
        if self.offset != 0 || self.bits == 0 || self.bits & 7 != 0 {
            return None;
        }
        let rest = octets.strip_prefix(self.octets)?;
        Some((Memo { value: List::Borrowed(items), ..*self }, self.items as usize, rest))
    }
}

impl<'a, S: Store<'a>, T: DecodeSized<'a, S> + Clone> DecodeSized<'a, S> for Memo<'a, T> {
    #[inline]
    fn decode_sized(reader: &mut Reader<'a, S>, size: Size, before: Option<&Self>) -> Result<Self, Error> {
        if let Some(before) = before.filter(|b| b.repeats(reader)) {
            reader.take_items(before.items as usize)?;
            reader.advance(before.bits);
            return Ok(before.clone());
        }
        let (start, items_left) = (reader.position(), reader.items_left());
        let value = T::decode_sized(reader, size, None)?;
        let end = reader.position();
        let octets = &reader.bytes()[start >> 3..end.div_ceil(8)];
        let items = items_left - reader.items_left();
        Ok(Memo { value, octets, offset: start & 7, bits: end - start, items })
    }
}

impl<T: EncodeSized> EncodeSized for Memo<'_, T> {
    fn encode_sized(&self, writer: &mut Writer<'_>, size: Size) -> Result<(), Error> {
        self.value.encode_sized(writer, size)
    }
}

impl<T: Encode> Encode for Memo<'_, T> {
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        self.value.encode(writer)
    }

    #[inline]
    fn size_hint(&self) -> usize {
        self.value.size_hint()
    }
}

impl<T: IntoOwned> IntoOwned for Memo<'_, T> {
    type Owned = Memo<'static, T::Owned>;
    fn into_owned(self) -> Self::Owned {
        Memo::from(self.value.into_owned())
    }
}

impl<T: Describe> Describe for Memo<'_, T> {
    fn describe(&self, visitor: &mut dyn Visitor) {
        self.value.describe(visitor);
    }
}

/// A single value in the storage of lists, for components that would make their container large.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Single<'a, T>(List<'a, T>);

impl<T> From<T> for Single<'_, T> {
    fn from(value: T) -> Self {
        Single(List::Owned(vec![value]))
    }
}

impl<T> Deref for Single<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        // Every constructor creates exactly one item.
        &self.0[0]
    }
}

impl<T: fmt::Debug> fmt::Debug for Single<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<'a, T: 'a> Single<'a, T> {
    /// Creates a boxed value.
    #[inline]
    pub(crate) fn kept<S: Store<'a>>(store: S, value: T) -> Self {
        let mut place = store.begin(1);
        place.push(value);
        Single(place.end())
    }
}

impl<'a, S: Store<'a>, T: Decode<'a, S> + 'a> Decode<'a, S> for Single<'a, T> {
    #[inline]
    fn decode_after(reader: &mut Reader<'a, S>, before: Option<&Self>) -> Result<Self, Error> {
        let value = T::decode_after(reader, before.map(|b| &**b))?;
        Ok(Single::kept(reader.store(), value))
    }
}

impl<T: Encode> Encode for Single<'_, T> {
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        (**self).encode(writer)
    }
    fn size_hint(&self) -> usize {
        (**self).size_hint()
    }
}

impl<T: IntoOwned + Clone> IntoOwned for Single<'_, T> {
    type Owned = Single<'static, T::Owned>;
    fn into_owned(self) -> Self::Owned {
        Single(self.0.into_owned())
    }
}

impl<T: Describe> Describe for Single<'_, T> {
    fn describe(&self, visitor: &mut dyn Visitor) {
        (**self).describe(visitor);
    }
}
