//! Where decoded lists live: one block of memory, used again for every message.

use bumpalo::Bump;
use bumpalo::collections::Vec as BumpVec;
use per::{Growing, List, Store};

/// Memory that [`Arena::reset`] keeps for the next message. What a single huge message took beyond it is given back.
pub const KEEP_OCTETS: usize = 4 << 20;

/// Room that a list's announced length may take before any item has arrived.
const PROMISE_OCTETS: usize = 16 << 10;

/// Memory for the lists of one message.
///
/// The values of a message borrow from the arena; once they are gone, `reset` makes room for the next. After the
/// first few messages nothing is allocated any more.
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
    /// An arena that has no memory yet.
    #[must_use]
    pub fn new() -> Self {
        Arena::default()
    }

    /// Makes the room of the last message free for the next.
    pub fn reset(&mut self) {
        if self.bump.allocated_bytes() > KEEP_OCTETS {
            self.bump = Bump::new();
        } else {
            self.bump.reset();
        }
    }
}

/// Nothing that is decoded into an arena owns memory elsewhere: the arena forgets its values without dropping them.
impl<'a> Store<'a> for &'a Arena {
    type Growing<T: 'a> = InArena<'a, T>;

    #[inline]
    fn begin<T: 'a>(self, count: usize) -> InArena<'a, T> {
        let promised = count.min(PROMISE_OCTETS / size_of::<T>().max(1));
        InArena(BumpVec::with_capacity_in(promised, &self.bump))
    }

    fn keep(self, octets: Vec<u8>) -> Result<&'a [u8], Vec<u8>> {
        Ok(self.bump.alloc_slice_copy(&octets))
    }
}

/// A list that grows in an [`Arena`].
pub struct InArena<'a, T: 'a>(BumpVec<'a, T>);

impl<'a, T: 'a> Growing<'a, T> for InArena<'a, T> {
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
