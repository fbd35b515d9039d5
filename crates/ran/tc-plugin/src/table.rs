//! The C ABI of `ferric_tc.h`.

use core::ffi::{CStr, c_char, c_void};

use radio::tc::{Amount, Candidate, RlcState, Transmission};
use radio::{Ecn, Packet, Time};

use shared_object::Head;

use crate::PluginKind;

/// `FERRIC_TC_MAX_STATE`.
pub(super) const MAX_STATE_OCTETS: u32 = 65_536;

pub(super) type State = *mut c_void;

/// `struct ferric_tc_v1`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Table {
    head: Head,
    pub(super) functions: Functions,
}

/// The fields after the head: kind, state size and functions.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Functions {
    part: u32,
    pub(super) state_octets: u32,
    pub(super) init: Option<unsafe extern "C" fn(State, *const c_char) -> i32>,
    pub(super) classify: Option<unsafe extern "C" fn(State, u64, TcPacket, u32) -> i32>,
    pub(super) on_enqueue: Option<unsafe extern "C" fn(State, u64, TcPacket, TcAmount) -> i32>,
    pub(super) on_dequeue: Option<unsafe extern "C" fn(State, u64, TcPacket, TcAmount) -> i32>,
    pub(super) choose: Option<unsafe extern "C" fn(State, u64, *const TcQueue, u32) -> i32>,
    pub(super) served: Option<unsafe extern "C" fn(State, u32, u32)>,
    pub(super) allowance: Option<unsafe extern "C" fn(State, u64, TcBelow) -> i64>,
    pub(super) handed_on: Option<unsafe extern "C" fn(State, u64, u32)>,
    pub(super) transmitted: Option<unsafe extern "C" fn(State, u64, TcTransmission)>,
}

#[allow(unsafe_code)]
// SAFETY: the layout is that of C, it begins with a head, and it contains only numbers and pointers that may be NULL.
unsafe impl shared_object::Table for Table {
    const SYMBOL: &'static CStr = c"ferric_tc_v1";
    const ABI: u32 = 1;
}

impl Functions {
    pub(super) fn kind(&self) -> Option<PluginKind> {
        match self.part {
            1 => Some(PluginKind::Classifier),
            2 => Some(PluginKind::Discipline),
            3 => Some(PluginKind::Scheduler),
            4 => Some(PluginKind::Pacer),
            _ => None,
        }
    }

    /// Whether the function that the kind requires exists.
    pub(super) fn implements(&self, kind: PluginKind) -> bool {
        match kind {
            PluginKind::Classifier => self.classify.is_some(),
            PluginKind::Discipline => self.on_dequeue.is_some(),
            PluginKind::Scheduler => self.choose.is_some(),
            PluginKind::Pacer => self.allowance.is_some(),
        }
    }
}

/// `struct ferric_tc_packet`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct TcPacket {
    waited_ns: u64,
    source: u32,
    destination: u32,
    octets: u32,
    source_port: u16,
    destination_port: u16,
    protocol: u8,
    dscp: u8,
    ecn: u8,
    reserved: u8,
}

impl TcPacket {
    pub(super) fn new(now: Time, packet: &Packet) -> Self {
        TcPacket {
            waited_ns: now.as_nanos().saturating_sub(packet.entered.as_nanos()),
            source: packet.tuple.source.to_bits(),
            destination: packet.tuple.destination.to_bits(),
            octets: packet.octets,
            source_port: packet.tuple.source_port,
            destination_port: packet.tuple.destination_port,
            protocol: packet.tuple.protocol,
            dscp: packet.dscp,
            ecn: match packet.ecn {
                Ecn::NotEct => 0,
                Ecn::Ect => 1,
                Ecn::Ce => 2,
            },
            reserved: 0,
        }
    }
}

/// `struct ferric_tc_amount`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct TcAmount {
    packets: u64,
    octets: u64,
}

impl From<Amount> for TcAmount {
    fn from(Amount { packets, octets }: Amount) -> Self {
        TcAmount { packets, octets }
    }
}

/// `struct ferric_tc_queue`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct TcQueue {
    head_waited_ns: u64,
    id: u32,
    ready: u32,
    packets: u32,
    octets: u32,
    head_octets: u32,
    reserved: u32,
}

impl From<Candidate> for TcQueue {
    fn from(candidate: Candidate) -> Self {
        TcQueue {
            head_waited_ns: u64::try_from(candidate.head_sojourn.as_nanos()).unwrap_or(u64::MAX),
            id: candidate.id.0,
            ready: candidate.ready.into(),
            packets: candidate.packets,
            octets: candidate.octets,
            head_octets: candidate.head_octets,
            reserved: 0,
        }
    }
}

/// `struct ferric_tc_below`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct TcBelow {
    rlc_octets: u32,
    rlc_room_octets: u32,
}

impl From<RlcState> for TcBelow {
    fn from(RlcState { rlc_octets, rlc_room_octets }: RlcState) -> Self {
        TcBelow { rlc_octets, rlc_room_octets }
    }
}

/// `struct ferric_tc_transmission`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct TcTransmission {
    waiting_octets: u64,
    octets: u32,
    rlc_was_emptied: u32,
}

impl From<Transmission> for TcTransmission {
    fn from(transmission: Transmission) -> Self {
        TcTransmission {
            waiting_octets: transmission.waiting_octets,
            octets: transmission.octets,
            rlc_was_emptied: transmission.rlc_was_emptied.into(),
        }
    }
}
