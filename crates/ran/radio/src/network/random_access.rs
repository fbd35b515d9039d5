//! Random access of UEs that arrive in a cell (TS 38.321 5.1): by handover, re-establishment or a new connection.
//!
//! A cell has one PRACH occasion in each epoch. In an occasion a UE sends one preamble: a dedicated one, or one of the
//! contention-based preambles at random. An attempt fails when another UE has chosen the same preamble, when the base station
//! misses the preamble, or when the UE misses the response. After a failed attempt the UE waits for a random time and
//! raises its power. A successful attempt takes no time of its own: it is part of
//! [`HandoverConfig::interruption`](super::HandoverConfig::interruption).

use super::site::Arrival;
use super::{EPOCH, HandoverConfig, MobilityCounts, RandomAccessConfig};
use crate::phy::{Channel, Direction, Interference, Surroundings};
use crate::{Cell, Time, Ue};

/// The largest transmit power of a UE, in dBm (power class 3 of TS 38.101-1 6.2.1).
const UE_POWER_DBM: f64 = 23.0;
/// Noise over a PRACH of 1.05 MHz (839 subcarriers of 1.25 kHz) at a base station with a noise figure of 5 dB, in dBm.
const PRACH_NOISE_DBM: f64 = -174.0 + 60.2 + 5.0;
/// Control errors below this are ignored.
const NEGLIGIBLE: f64 = 1e-6;

/// The result of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Attempt {
    Succeeded,
    Failed,
}

/// Lets all UEs of an occasion attempt the access. Returns the result of each.
pub(super) fn attempt(
    now: Time,
    arrivals: &mut [Arrival],
    admits: bool,
    config: &HandoverConfig,
    counts: &mut MobilityCounts,
) -> Vec<Attempt> {
    let access = &config.access;
    let preambles: Vec<Option<u32>> = arrivals
        .iter_mut()
        .map(|arrival| (!arrival.is_dedicated).then(|| choose(&mut arrival.ue, access.contention_preambles)))
        .collect();
    let mut taken = vec![0u32; usize::from(access.contention_preambles.max(1))];
    preambles.iter().flatten().for_each(|preamble| taken[*preamble as usize] += 1);
    let mut results = Vec::with_capacity(arrivals.len());
    for (arrival, preamble) in arrivals.iter_mut().zip(preambles) {
        arrival.attempts += 1;
        let ue = &mut arrival.ue;
        ue.channel.update(now, &Surroundings::undisturbed(), &mut ue.random);
        let is_received = passes(ue, |ue| missed_preambles(ue, arrival.cell, arrival.attempts, access));
        let collides = preamble.is_some_and(|preamble| taken[preamble as usize] > 1);
        if is_received {
            match preamble {
                Some(_) => counts.contention_preambles += 1,
                None => counts.dedicated_preambles += 1,
            }
            counts.collisions += u64::from(collides);
        }
        let is_complete = is_received && admits && !collides && passes(ue, |ue| missed_responses(ue, config));
        results.push(if is_complete { Attempt::Succeeded } else { Attempt::Failed });
    }
    results
}

/// The time of the next attempt after a failed one.
pub(super) fn next_occasion(now: Time, ue: &mut Ue, access: &RandomAccessConfig) -> Time {
    now + EPOCH * (1 + (ue.random.uniform() * f64::from(backoff_epochs(access) + 1)) as u32)
}

/// The time up to which an attempt is followed by another one before the deadline.
pub(super) fn last_repeated(deadline: Time, access: &RandomAccessConfig) -> Time {
    let longest = EPOCH * (1 + backoff_epochs(access));
    Time::from_nanos(deadline.as_nanos().saturating_sub(longest.as_nanos() as u64))
}

/// The largest random delay after a failed attempt.
fn backoff_epochs(access: &RandomAccessConfig) -> u32 {
    (access.backoff.as_nanos() / EPOCH.as_nanos()) as u32
}

fn choose(ue: &mut Ue, preambles: u8) -> u32 {
    (ue.random.uniform() * f64::from(preambles.max(1))) as u32
}

/// Whether something happens that fails with a probability.
fn passes(ue: &mut Ue, failure: impl FnOnce(&Ue) -> f64) -> bool {
    let failure = failure(ue);
    failure < NEGLIGIBLE || ue.random.uniform() >= failure
}

/// The probability that the base station misses a preamble: exponential in the SNR, as for a non-coherent detector, and 1 % at
/// [`RandomAccessConfig::needed_snr_db`].
fn missed_preambles(ue: &Ue, cell: usize, attempt: u32, access: &RandomAccessConfig) -> f64 {
    let snr_db = preamble_snr_db(ue, cell, attempt, access);
    (-(100.0_f64.ln()) * 10.0_f64.powf((snr_db - access.needed_snr_db) / 10.0)).exp()
}

/// The SNR of a preamble: the UE aims at the target power, which it raises with each attempt up to its maximum power.
fn preamble_snr_db(ue: &Ue, cell: usize, attempt: u32, access: &RandomAccessConfig) -> f64 {
    let Some((rsrp_dbm, element_dbm)) = rsrp_and_power_dbm(ue, cell) else { return ue.channel.uplink_sinr_db() };
    let loss_db = element_dbm - rsrp_dbm;
    let wanted_dbm = access.target_dbm + loss_db + access.ramping_db * f64::from(attempt.saturating_sub(1));
    wanted_dbm.min(UE_POWER_DBM) - loss_db - PRACH_NOISE_DBM
}

/// The received and the transmitted power of a cell per resource element, for a UE that receives several cells.
fn rsrp_and_power_dbm(ue: &Ue, cell: usize) -> Option<(f64, f64)> {
    let geometry = ue.channel.geometry()?;
    // a UE that receives its own cell only has the same channel in each
    let site = if geometry.sites().len() == 1 { 0 } else { cell };
    let power = geometry.sites().get(site)?;
    let element_dbm = power.power_dbm - 10.0 * (12.0 * f64::from(power.prbs)).log10();
    Some((geometry.rsrp_dbm(site), element_dbm))
}

/// The probability that the UE misses the random access response or the message that resolves the contention.
fn missed_responses(ue: &Ue, config: &HandoverConfig) -> f64 {
    control_error_rate(&ue.channel, Surroundings::undisturbed().interference, config)
}

/// The probability that a message to the UE is lost in its serving cell. It occupies few resource elements, so the cell that disturbs
/// it most transmits in them or does not: with the mean of its power instead, a strong neighbour with little traffic would destroy
/// every message.
fn control_error_rate(channel: &Channel, interference: &Interference, config: &HandoverConfig) -> f64 {
    // a channel with a fixed MCS has no errors
    if channel.link(Direction::Downlink).mcs.is_some() {
        return 0.0;
    }
    let cases = channel.element_sinrs_db(interference);
    cases.iter().map(|(probability, sinr_db)| probability * config.link.control_error_rate(*sinr_db)).sum()
}

/// Whether a message reaches a UE of the cell.
pub(super) fn is_message_received(cell: &mut Cell, index: usize, config: &HandoverConfig) -> bool {
    let Some(ue) = cell.ue(index) else { return false };
    let failure = control_error_rate(&ue.channel, cell.interference(), config);
    cell.ue_mut(index).is_some_and(|ue| passes(ue, |_| failure))
}
