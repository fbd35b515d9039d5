//! The fronthaul of split 7.1: frequency-domain samples over UDP, a datagram for each OFDM symbol.
//!
//! The transforms are in the radio unit. Samples have 8 bits for each of I and Q, as IF4p5 carries them (Knopp, "Overview of
//! functional splits in OAI", 2018): 25 resource blocks of 12 subcarriers take 600 octets a symbol, about 67 Mbit/s a direction.

use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::deadlines::{Deadlines, SUBFRAME_NS};
use crate::pipeline::Air;
use crate::threads::Threads;
use crate::{Error, POLL};

/// OFDM symbols of a subframe with normal cyclic prefix (TS 36.211 6.2.3).
const SYMBOLS: u64 = 14;
/// Subframe and symbol precede the samples.
const HEADER: usize = 9;
/// Subcarriers of a resource block, and octets of a sample.
const SUBCARRIERS: usize = 12;
const SAMPLE_OCTETS: usize = 2;
/// The longest datagram: 110 resource blocks.
const MAX_OCTETS: usize = HEADER + 110 * SUBCARRIERS * SAMPLE_OCTETS;
/// Symbols that the radio unit sends at once: a slot.
const BURST: u64 = 7;

/// The base-band unit's end.
pub(crate) struct Fronthaul {
    pub socket: UdpSocket,
    pub radio_unit: SocketAddr,
    pub prbs: u32,
    /// Datagrams that could not be sent.
    pub send_errors: Arc<AtomicU64>,
}

fn datagram(subframe: u64, symbol: u64, prbs: u32) -> Vec<u8> {
    let mut octets = vec![0; HEADER + prbs as usize * SUBCARRIERS * SAMPLE_OCTETS];
    octets[..8].copy_from_slice(&subframe.to_be_bytes());
    octets[8] = symbol as u8; // below 14
    octets
}

fn parse(octets: &[u8]) -> Option<(u64, u64)> {
    let (subframe, rest) = octets.split_first_chunk::<8>()?;
    let symbol = u64::from(*rest.first()?);
    (symbol < SYMBOLS).then_some((u64::from_be_bytes(*subframe), symbol))
}

/// The subframes of which symbols have arrived.
#[derive(Default)]
pub(crate) struct SubframeSamples {
    /// The first subframe that is not complete.
    next: u64,
    /// Its symbols, a bit each.
    symbols: u16,
    /// Subframes below are to be handed on, complete or not.
    until: u64,
}

impl SubframeSamples {
    fn add(&mut self, subframe: u64, symbol: u64) {
        // what is lost is not waited for; a number far ahead is no subframe of this radio unit
        if subframe > self.next && subframe < self.next + 10_000 {
            (self.next, self.symbols, self.until) = (subframe, 0, subframe);
        }
        if subframe == self.next {
            self.symbols |= 1 << symbol;
            if self.symbols == (1 << SYMBOLS) - 1 {
                (self.next, self.symbols, self.until) = (subframe + 1, 0, subframe + 1);
            }
        }
    }

    /// The last subframe that is to be handed on, if there is one: those before it are handed on with it.
    pub fn take_complete(&mut self) -> Option<u64> {
        std::mem::take(&mut self.until).checked_sub(1)
    }
}

impl Fronthaul {
    /// Receives one datagram. Returns which part of a subframe it is; `None` if none has arrived for a while or it is malformed.
    pub fn receive(&self, samples: &mut SubframeSamples) -> Option<f64> {
        let mut octets = [0; MAX_OCTETS];
        let length = self.socket.recv(&mut octets).ok()?;
        let (subframe, symbol) = parse(&octets[..length])?;
        samples.add(subframe, symbol);
        Some(1.0 / SYMBOLS as f64)
    }

    /// Sends the samples of a subframe's answer.
    pub fn send(&self, subframe: u64) {
        for symbol in 0..SYMBOLS {
            if self.socket.send_to(&datagram(subframe, symbol, self.prbs), self.radio_unit).is_err() {
                self.send_errors.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

/// Starts the radio unit at the other end: it sends the samples that it receives, and notes when those that it transmits are there.
pub(crate) fn start_radio_unit(
    threads: &mut Threads,
    air: &Arc<Air>,
    socket: UdpSocket,
    unit: SocketAddr,
    prbs: u32,
) -> Result<(), Error> {
    let receiver = socket.try_clone().map_err(Error::socket("share the socket of the radio unit"))?;
    receiver.set_read_timeout(Some(POLL)).map_err(Error::socket("limit the wait of the radio unit"))?;
    let (stop, clock) = (Arc::clone(&threads.stop), air.clock);
    threads.start_outside("radio-unit-tx", move || {
        let mut symbol = 0;
        while !stop.load(Ordering::Acquire) {
            let last = symbol + BURST;
            clock.sleep_until(last * SUBFRAME_NS / SYMBOLS);
            for symbol in symbol..last {
                // a full buffer loses samples as a full link does
                let _ = socket.send_to(&datagram(symbol / SYMBOLS, symbol % SYMBOLS, prbs), unit);
            }
            symbol = last;
        }
    })?;
    let (stop, air) = (Arc::clone(&threads.stop), Arc::clone(air));
    threads.start_outside("radio-unit-rx", move || note_arrivals(&receiver, &air, &stop))
}

fn note_arrivals(socket: &UdpSocket, air: &Air, stop: &AtomicBool) {
    let mut octets = [0; MAX_OCTETS];
    let mut samples = (0, 0_u16);
    while !stop.load(Ordering::Acquire) {
        let length = match socket.recv(&mut octets) {
            Ok(length) => length,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => continue,
            // the other end is not there yet, or has ended
            Err(_) => continue,
        };
        let Some((subframe, symbol)) = parse(&octets[..length]) else { continue };
        if subframe != samples.0 {
            samples = (subframe, 0);
        }
        samples.1 |= 1 << symbol;
        let now_ns = air.clock.now_ns();
        if samples.1 == (1 << SYMBOLS) - 1 && now_ns >= Deadlines::begin_ns(subframe) {
            air.deadlines.finish(subframe, now_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_symbols_do_not_stop_the_unit() {
        let mut samples = SubframeSamples::default();
        (0..SYMBOLS).for_each(|symbol| samples.add(0, symbol));
        assert_eq!(samples.take_complete(), Some(0));
        assert_eq!(samples.take_complete(), None);
        (0..SYMBOLS - 1).for_each(|symbol| samples.add(1, symbol));
        assert_eq!(samples.take_complete(), None);
        samples.add(2, 0);
        assert_eq!(samples.take_complete(), Some(1));
        samples.add(u64::MAX, 0);
        assert_eq!((samples.next, samples.take_complete()), (2, None));
    }

    #[test]
    fn malformed_datagrams_are_ignored() {
        assert_eq!(parse(&datagram(7, 13, 25)), Some((7, 13)));
        for bad in [&[][..], &[0; 8], &[14; 9]] {
            assert_eq!(parse(bad), None);
        }
    }
}
