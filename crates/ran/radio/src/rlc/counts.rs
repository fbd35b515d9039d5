//! The counters of an RLC entity.

/// Counters of RLC. Octets are those of SDUs with PDCP headers, unless stated otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RlcCounts {
    /// SDUs from above.
    pub in_packets: u64,
    /// Their octets.
    pub in_octets: u64,
    /// SDUs dropped because the buffer was full.
    pub buffer_full_packets: u64,
    /// Their octets.
    pub buffer_full_octets: u64,
    /// SDUs discarded by the discard timer.
    pub discarded_packets: u64,
    /// Their octets.
    pub discarded_octets: u64,
    /// SDUs sent completely; those sent again from another cell count again.
    pub sent_packets: u64,
    /// Octets sent for the first time.
    pub sent_octets: u64,
    /// RLC PDUs sent.
    pub sent_pdus: u64,
    /// RLC PDUs that were not complete SDUs.
    pub segments: u64,
    /// Octets of RLC and MAC headers.
    pub header_octets: u64,
    /// RLC PDUs retransmitted by RLC.
    pub retransmitted_pdus: u64,
    /// SDU octets retransmitted by RLC.
    pub retransmitted_octets: u64,
    /// RLC PDUs received.
    pub received_pdus: u64,
    /// SDU octets in them, without headers.
    pub received_octets: u64,
    /// SDUs delivered in order.
    pub delivered_packets: u64,
    /// Their octets.
    pub delivered_octets: u64,
    /// SDUs lost on the air.
    pub lost_packets: u64,
    /// Their octets.
    pub lost_octets: u64,
    /// Sum of the times from arrival until completely sent: divide by `sent_packets` for the mean.
    pub sojourn_ns: u64,
    /// That time of the last SDU.
    pub last_sojourn_ns: u64,
    /// SDUs received completely.
    pub complete_packets: u64,
    /// Sum of their times from the transmission of the last part until its sender knows that it was received.
    pub air_ns: u64,
    /// Sum of their times from the reception of the first part to that of the last one.
    pub assembly_ns: u64,
    /// Sum of the times from the reception of the last part until delivery in order: divide by `delivered_packets`.
    pub reordering_ns: u64,
    /// Acknowledged octets of bursts that took several slots, without the slot that emptied the buffer (ThpVol of TS 28.552
    /// 5.1.1.3).
    pub throughput_octets: u64,
    /// The time that they took, from the first transmission of the burst (ThpTime).
    pub throughput_ns: u64,
    /// Acknowledged octets of bursts that took one slot (TS 28.552 5.1.1.3.5).
    pub unrestricted_octets: u64,
}

impl std::ops::AddAssign for RlcCounts {
    /// Sums two bearers; `last_sojourn_ns` is the longer one.
    fn add_assign(&mut self, other: Self) {
        self.in_packets += other.in_packets;
        self.in_octets += other.in_octets;
        self.buffer_full_packets += other.buffer_full_packets;
        self.buffer_full_octets += other.buffer_full_octets;
        self.discarded_packets += other.discarded_packets;
        self.discarded_octets += other.discarded_octets;
        self.sent_packets += other.sent_packets;
        self.sent_octets += other.sent_octets;
        self.sent_pdus += other.sent_pdus;
        self.segments += other.segments;
        self.header_octets += other.header_octets;
        self.retransmitted_pdus += other.retransmitted_pdus;
        self.retransmitted_octets += other.retransmitted_octets;
        self.received_pdus += other.received_pdus;
        self.received_octets += other.received_octets;
        self.delivered_packets += other.delivered_packets;
        self.delivered_octets += other.delivered_octets;
        self.lost_packets += other.lost_packets;
        self.lost_octets += other.lost_octets;
        self.sojourn_ns += other.sojourn_ns;
        self.last_sojourn_ns = self.last_sojourn_ns.max(other.last_sojourn_ns);
        self.complete_packets += other.complete_packets;
        self.air_ns += other.air_ns;
        self.assembly_ns += other.assembly_ns;
        self.reordering_ns += other.reordering_ns;
        self.throughput_octets += other.throughput_octets;
        self.throughput_ns += other.throughput_ns;
        self.unrestricted_octets += other.unrestricted_octets;
    }
}
