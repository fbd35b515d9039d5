//! The memory of decoded lists: one block, used again for every message.

use bumpalo::Bump;
use bumpalo::collections::Vec as BumpVec;
use per::{List, ListBuilder, Store};

/// The memory that [`Arena::reset`] keeps for the next message. If a message took more, all of it is freed.
pub const KEEP_OCTETS: usize = 4 << 20;

/// The memory that is reserved at most for the announced length of a list before its items are decoded.
const PROMISE_OCTETS: usize = 16 << 10;

/// Memory for the lists of one message.
///
/// The values of a message borrow from the arena; when they are dropped, `reset` frees the memory for the next message.
/// After the first few messages, decoding does not allocate.
///
/// ```
/// # use e2sm::Arena;
/// # #[cfg(feature = "kpm")]
/// # fn main() -> Result<(), per::Error> {
/// use e2sm::kpm::{IndicationMessage, Revision};
/// # let messages: [&[u8]; 0] = [];
///
/// let mut arena = Arena::new();
/// for bytes in messages {
///     arena.reset();
///     let message = IndicationMessage::decode(bytes, Revision::V3_00, &arena)?;
///     // ... look at `message`
/// }
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "kpm"))]
/// # fn main() {}
/// ```
#[derive(Debug, Default)]
pub struct Arena {
    bump: Bump,
}

impl Arena {
    /// Creates an arena without memory.
    #[must_use]
    pub fn new() -> Self {
        Arena::default()
    }

    /// Frees the memory of the last message for the next.
    pub fn reset(&mut self) {
        if self.bump.allocated_bytes() > KEEP_OCTETS {
            self.bump = Bump::new();
        } else {
            self.bump.reset();
        }
    }
}

/// Values in an arena do not own memory elsewhere: the arena frees them without dropping them.
impl<'a> Store<'a> for &'a Arena {
    type ListBuilder<T: 'a> = InArena<'a, T>;

    #[inline]
    fn begin<T: 'a>(self, count: usize) -> InArena<'a, T> {
        let promised = count.min(PROMISE_OCTETS / size_of::<T>().max(1));
        InArena(BumpVec::with_capacity_in(promised, &self.bump))
    }

    #[inline]
    fn fill<T: 'a>(self, count: usize, mut item: impl FnMut() -> T) -> List<'a, T> {
        List::Borrowed(self.bump.alloc_slice_fill_with(count, |_| item()))
    }

    fn keep(self, octets: Vec<u8>) -> Result<&'a [u8], Vec<u8>> {
        Ok(self.bump.alloc_slice_copy(&octets))
    }
}

/// A list that grows in an [`Arena`].
pub struct InArena<'a, T: 'a>(BumpVec<'a, T>);

impl<'a, T: 'a> ListBuilder<'a, T> for InArena<'a, T> {
    #[inline]
    fn last(&self) -> Option<&T> {
        self.0.last()
    }
    #[inline]
    fn push(&mut self, item: T) {
        self.0.push(item);
    }
    #[inline]
    fn end(self) -> List<'a, T> {
        List::Borrowed(self.0.into_bump_slice())
    }
}
