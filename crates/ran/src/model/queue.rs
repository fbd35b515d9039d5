//! What waits to be sent, first in, first out.

use std::collections::VecDeque;

/// Chunks that wait at a time; more go with the last one.
const MAX_CHUNKS: usize = 128;
/// Arrivals within this go together, in seconds.
const TOGETHER_S: f64 = 0.01;

/// Bits that wait, with the time at which they came.
#[derive(Clone, Debug, Default)]
pub struct Queue {
    chunks: VecDeque<(f64, f64)>,
    bits: f64,
}

/// What was taken from a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Taken {
    pub bits: f64,
    /// Seconds that each bit waited, summed up.
    pub bit_seconds: f64,
}

impl Queue {
    pub fn bits(&self) -> f64 {
        self.bits
    }

    /// When the oldest of what waits came.
    pub fn oldest_s(&self) -> Option<f64> {
        self.chunks.front().map(|(_, came_s)| *came_s)
    }

    pub fn push(&mut self, now_s: f64, bits: f64) {
        if bits <= 0.0 {
            return;
        }
        self.bits += bits;
        let full = self.chunks.len() >= MAX_CHUNKS;
        match self.chunks.back_mut() {
            Some((last, came_s)) if full || now_s - *came_s < TOGETHER_S => *last += bits,
            _ => self.chunks.push_back((bits, now_s)),
        }
    }

    /// Takes up to that many bits, oldest first.
    pub fn take(&mut self, now_s: f64, mut bits: f64) -> Taken {
        let mut taken = Taken::default();
        while let Some((chunk, came_s)) = self.chunks.front_mut() {
            let part = chunk.min(bits);
            taken.bits += part;
            taken.bit_seconds += part * (now_s - *came_s);
            bits -= part;
            *chunk -= part;
            // less than a bit is what rounding left
            if *chunk >= 1.0 {
                break;
            }
            self.chunks.pop_front();
        }
        self.bits = if self.chunks.is_empty() { 0.0 } else { (self.bits - taken.bits).max(0.0) };
        taken
    }

    /// Throws away what came before then, and tells how much it was.
    pub fn expire(&mut self, before_s: f64) -> f64 {
        let mut expired = 0.0;
        while let Some((bits, _)) = self.chunks.front().filter(|(_, came_s)| *came_s < before_s) {
            expired += bits;
            self.chunks.pop_front();
        }
        self.bits = if self.chunks.is_empty() { 0.0 } else { (self.bits - expired).max(0.0) };
        expired
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_in_first_out() {
        let mut queue = Queue::default();
        queue.push(0.0, 1000.0);
        queue.push(0.1, 500.0);
        assert_eq!(queue.take(0.2, 800.0), Taken { bits: 800.0, bit_seconds: 160.0 });
        let taken = queue.take(0.3, 10_000.0);
        assert_eq!(taken.bits, 700.0);
        assert!((taken.bit_seconds - (200.0 * 0.3 + 500.0 * 0.2)).abs() < 1e-9);
        assert_eq!((queue.bits(), queue.take(1.0, 5.0)), (0.0, Taken::default()));

        queue.push(1.0, 10.0);
        queue.push(2.0, 20.0);
        assert_eq!((queue.expire(1.5), queue.bits()), (10.0, 20.0));
        for n in 0..1000 {
            queue.push(f64::from(n) + 2.0, 1.0);
        }
        assert_eq!((queue.chunks.len(), queue.bits()), (MAX_CHUNKS, 1020.0));
    }
}
