//! The downlink MAC configuration: what the MAC of a cell shall schedule in a subframe.

use protobuf::message;

message! {
    /// What the MAC of a cell shall schedule in a subframe.
    DlMacConfig {
        /// System frame and subframe number.
        sfn_sf: u32 = 2,
        /// Data of UEs.
        ues: Vec<DlData> = 3,
        /// Random access responses.
        responses: Vec<DlRandomAccessResponse> = 4,
        /// Broadcasts.
        broadcasts: Vec<DlBroadcast> = 5,
        /// The OFDM symbols of PDCCH of each carrier.
        symbols: Vec<OfdmSymbols> = 6,
    }
}

message! {
    /// Data of a UE.
    DlData {
        /// The C-RNTI.
        rnti: u32 = 1,
        /// The downlink control information.
        dci: Option<DlDci> = 2,
        /// A bitmap of MAC control elements for each transport block.
        control_elements: Vec<u32> = 3,
        /// The RLC PDUs of each logical channel.
        rlc_pdus: Vec<RlcPdu> = 4,
        /// The serving cell.
        serving_cell: Option<u32> = 5,
        /// The control element that activates secondary cells.
        activation: Option<u32> = 6,
    }
}

message! {
    /// Downlink control information (TS 36.212 5.3.3).
    DlDci {
        /// The RNTI.
        rnti: u32 = 1,
        /// The type of resource allocation.
        allocation_type: Option<u32> = 2,
        /// The bitmap of resource blocks or groups.
        bitmap: Option<u32> = 3,
        /// The shift of the bitmap.
        shift: Option<u32> = 4,
        /// Octets of each transport block.
        tbs: Vec<u32> = 5,
        /// The modulation and coding scheme of each transport block.
        mcs: Vec<u32> = 6,
        /// The new data indicator of each.
        ndi: Vec<u32> = 7,
        /// The redundancy version of each.
        rv: Vec<u32> = 8,
        /// The first control channel element.
        cce: Option<u32> = 9,
        /// The aggregation level.
        aggregation_level: Option<u32> = 10,
        /// Precoding information.
        precoding: Option<u32> = 11,
        /// The format: 0 to 9 are 1, 1A, 1B, 1C, 1D, 2, 2A, 2B, 3 and 3A.
        format: Option<u32> = 12,
        /// The transmit power command.
        tpc: Option<u32> = 13,
        /// The HARQ process.
        harq_process: Option<u32> = 14,
        /// The downlink assignment index (TDD).
        dai: Option<u32> = 15,
        /// 0 localized, 1 distributed virtual resource blocks.
        vrb_format: Option<u32> = 16,
        /// Whether transport blocks are swapped.
        tb_swap: Option<u32> = 17,
        /// The release of semi-persistent scheduling.
        sps_release: Option<u32> = 18,
        /// Whether it is a PDCCH order.
        pdcch_order: Option<u32> = 19,
        /// The preamble of the order.
        preamble: Option<u32> = 20,
        /// The PRACH mask of the order.
        prach_mask: Option<u32> = 21,
        /// The gap.
        gap: Option<u32> = 22,
        /// The index of the transport block size of format 1A.
        tbs_index: Option<u32> = 23,
        /// The power offset of format 1D.
        power_offset: Option<u32> = 24,
        /// The power offset of PDCCH in dB.
        pdcch_power_offset: Option<u32> = 25,
        /// Whether there is a carrier indicator.
        has_cif: Option<u32> = 26,
        /// The carrier indicator.
        cif: Option<u32> = 27,
    }
}

message! {
    /// The RLC PDUs of a logical channel.
    RlcPdu {
        /// One for each transport block.
        blocks: Vec<RlcPduBlock> = 1,
    }
}

message! {
    /// An RLC PDU in a transport block.
    RlcPduBlock {
        /// The logical channel.
        lcid: u32 = 1,
        /// Its size at most, in octets.
        octets: u32 = 2,
    }
}

message! {
    /// A random access response.
    DlRandomAccessResponse {
        /// The temporary C-RNTI.
        rnti: u32 = 1,
        /// The uplink grant of 20 bits (TS 36.213 6.2).
        grant: Option<u32> = 2,
        /// The downlink control information.
        dci: Option<DlDci> = 3,
        /// The carrier.
        carrier_index: Option<u32> = 4,
    }
}

message! {
    /// A broadcast.
    DlBroadcast {
        /// 0 BCCH, 1 PCCH.
        kind: u32 = 1,
        /// 0 SIB1, 1 to 31 SIx, 32 to 63 PCCH.
        index: Option<u32> = 2,
        /// The downlink control information.
        dci: Option<DlDci> = 3,
        /// The carrier.
        carrier_index: Option<u32> = 4,
    }
}

message! {
    /// The OFDM symbols of PDCCH of a carrier.
    OfdmSymbols {
        /// The carrier.
        carrier_index: u32 = 1,
        /// Their number, 1 to 4.
        count: u32 = 2,
    }
}
