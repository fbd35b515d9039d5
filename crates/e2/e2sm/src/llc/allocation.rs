//! Frequency domain resource allocation of type 1: contiguous resource blocks in one number (TS 38.214 5.1.2.2.2).

/// Contiguous virtual resource blocks of a bandwidth part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ResourceAllocation {
    /// The first one.
    pub start: u16,
    /// How many there are; at least 1.
    pub length: u16,
}

/// The resource indication value of an allocation in a bandwidth part of so many resource blocks; `None` if it is empty or
/// does not fit.
#[must_use]
pub fn resource_indication_value(allocation: ResourceAllocation, bandwidth: u16) -> Option<u32> {
    let (start, length, size) = (u32::from(allocation.start), u32::from(allocation.length), u32::from(bandwidth));
    if length == 0 || start + length > size {
        return None;
    }
    Some(if length - 1 <= size / 2 {
        size * (length - 1) + start
    } else {
        size * (size - length + 1) + size - 1 - start
    })
}

impl ResourceAllocation {
    /// The allocation of a resource indication value, `None` if the bandwidth part has none of this value.
    #[must_use]
    pub fn of_value(value: u64, bandwidth: u16) -> Option<Self> {
        let size = u64::from(bandwidth);
        let (row, column) = (value.checked_div(size)?, value % size);
        if row > size {
            return None;
        }
        // the value counts from the other side where the allocation is longer than half of the bandwidth part
        let (start, length) = match row + 1 + column <= size && row <= size / 2 {
            true => (column, row + 1),
            false => (size - 1 - column, size - row + 1),
        };
        let allocation = ResourceAllocation { start: start as u16, length: u16::try_from(length).ok()? };
        // both forms overlap in numbers that no allocation has
        (resource_indication_value(allocation, bandwidth).map(u64::from) == Some(value)).then_some(allocation)
    }

    /// The bits of a resource indication value in DCI format 1_1 (TS 38.212 7.3.1.2.2).
    #[must_use]
    pub fn bits(bandwidth: u16) -> u8 {
        let values = u32::from(bandwidth) * (u32::from(bandwidth) + 1) / 2;
        values.next_power_of_two().trailing_zeros() as u8
    }

    /// The first resource block behind it.
    #[must_use]
    pub fn end(&self) -> u32 {
        u32::from(self.start) + u32::from(self.length)
    }

    /// Whether both have a resource block.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        u32::from(self.start) < other.end() && u32::from(other.start) < self.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_has_one_allocation() {
        for bandwidth in [1, 2, 3, 11, 24, 25, 106, 273] {
            let mut values = Vec::new();
            for start in 0..bandwidth {
                for length in 1..=bandwidth - start {
                    let allocation = ResourceAllocation { start, length };
                    let value = resource_indication_value(allocation, bandwidth).unwrap();
                    assert_eq!(ResourceAllocation::of_value(value.into(), bandwidth), Some(allocation), "{bandwidth}");
                    assert!(u64::from(value) < 1 << ResourceAllocation::bits(bandwidth));
                    values.push(value);
                }
            }
            values.sort_unstable();
            let count = u32::from(bandwidth) * (u32::from(bandwidth) + 1) / 2;
            assert!(values.iter().copied().eq(0..count), "the values of {bandwidth} have gaps");
            for value in [u64::from(count), u64::from(count) + 1, u64::MAX] {
                assert_eq!(ResourceAllocation::of_value(value, bandwidth), None, "{value} of {bandwidth}");
            }
        }
        assert_eq!(ResourceAllocation::of_value(0, 0), None);
    }

    #[test]
    fn value_matches_calculation_of_the_clause() {
        // 106 resource blocks: 20 from 10 on are 106 * 19 + 10; 100 from 3 on are 106 * (106 - 100 + 1) + 105 - 3
        let value = |start, length| resource_indication_value(ResourceAllocation { start, length }, 106);
        assert_eq!((value(10, 20), value(3, 100)), (Some(2024), Some(844)));
        assert_eq!((value(0, 0), value(6, 101), value(106, 1)), (None, None, None));
        assert_eq!(ResourceAllocation::bits(106), 13);
    }
}
