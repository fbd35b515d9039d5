//! All names of a UE together: those that parts of its base station report, with its slices and addresses.

use core::fmt;
use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use e2sm::common::{PlmnIdentity, SNssai};

use super::{RanDatabase, RntiScope, Ue, UeName, UeReference};

/// The most S-NSSAIs of a UE: it may request so many (TS 24.501 4.6.2.2).
const MAX_S_NSSAIS: usize = 8;
/// The most addresses of a UE: it may have so many PDU sessions (TS 24.501 9.4).
const MAX_ADDRESSES: usize = 15;

/// What nodes report of a UE besides its names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UeContext {
    /// Its cell, an NR or E-UTRA cell identity, where it is reported without a C-RNTI.
    pub cell: Option<u64>,
    /// The network that it selected.
    pub plmn: Option<PlmnIdentity>,
    /// Its slices: eight at most, further ones are ignored.
    pub s_nssais: Vec<SNssai>,
    /// Its IPv4 addresses, of one PDU session each: fifteen at most, further ones are ignored.
    pub addresses: Vec<Ipv4Addr>,
}

impl UeContext {
    /// Replaces what the other one has.
    pub(super) fn update(&mut self, other: &UeContext) {
        self.cell = other.cell.or(self.cell);
        self.plmn = other.plmn.or(self.plmn);
        if !other.s_nssais.is_empty() {
            self.s_nssais = other.s_nssais.iter().take(MAX_S_NSSAIS).copied().collect();
        }
        if !other.addresses.is_empty() {
            self.addresses = other.addresses.iter().take(MAX_ADDRESSES).copied().collect();
        }
    }
}

/// All names of a UE, each kind as far as it is known.
///
/// It is displayed as the [references](UeReference) that are accepted for it, the most stable one first:
/// `amf:17 rnti:0x4601@003804001 ip:10.45.0.7`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UeIdentity {
    /// Its AMF-UE-NGAP-ID, which stays the same in handovers.
    pub amf_ue_ngap_id: Option<u64>,
    /// The AMF that assigned it: PLMN, region, set and pointer.
    pub guami: Option<[u8; 6]>,
    /// Its MME-UE-S1AP-ID.
    pub mme_ue_s1ap_id: Option<u32>,
    /// The MME that assigned it: PLMN, group and code.
    pub gummei: Option<[u8; 6]>,
    /// Its gNB-CU-UE-F1AP-IDs.
    pub f1ap: Vec<u32>,
    /// Its gNB-CU-CP-UE-E1AP-IDs.
    pub e1ap: Vec<u32>,
    /// Its ng-eNB-CU-UE-W1AP-IDs.
    pub w1ap: Vec<u32>,
    /// Its id on X2 at the master eNB.
    pub x2ap: Option<u32>,
    /// Its RAN UE ID.
    pub ran_ue_id: Option<[u8; 8]>,
    /// Its C-RNTI.
    pub rnti: Option<u16>,
    /// Its cell: an NR or E-UTRA cell identity.
    pub cell: Option<u64>,
    /// Its network, slices and addresses.
    pub context: UeContext,
}

/// The value of a part of an identity, for JSON objects and tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IdentityField {
    /// A number.
    Number(u64),
    /// Numbers.
    Numbers(Vec<u32>),
    /// A text.
    Text(String),
    /// Texts.
    Texts(Vec<String>),
}

impl UeIdentity {
    /// The identity that these names and this context make up. Of several names of a kind that is single, the last one counts.
    pub fn of<'n>(names: impl IntoIterator<Item = &'n UeName>, context: UeContext) -> Self {
        let mut identity = UeIdentity { cell: context.cell, context, ..UeIdentity::default() };
        let (mut f1ap, mut e1ap, mut w1ap) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for name in names {
            match *name {
                UeName::Ngap { guami, amf_ue_ngap_id } => {
                    (identity.guami, identity.amf_ue_ngap_id) = (Some(guami), Some(amf_ue_ngap_id));
                }
                UeName::S1ap { gummei, mme_ue_s1ap_id } => {
                    (identity.gummei, identity.mme_ue_s1ap_id) = (Some(gummei), Some(mme_ue_s1ap_id));
                }
                UeName::RanUeId(id) => identity.ran_ue_id = Some(id),
                UeName::F1ap(id) => drop(f1ap.insert(id)),
                UeName::W1ap(id) => drop(w1ap.insert(id)),
                UeName::E1ap(id) => drop(e1ap.insert(id)),
                UeName::Rnti { rnti, cell } => {
                    (identity.rnti, identity.cell) = (Some(rnti), cell.or(identity.cell));
                }
                UeName::Local(id) => identity.x2ap = u32::try_from(id).ok(),
            }
        }
        (identity.f1ap, identity.e1ap, identity.w1ap) =
            (f1ap.into_iter().collect(), e1ap.into_iter().collect(), w1ap.into_iter().collect());
        identity
    }

    /// The references to it, the most stable one first.
    #[must_use]
    pub fn references(&self) -> Vec<UeReference> {
        let core =
            self.amf_ue_ngap_id.map(UeReference::Amf).into_iter().chain(self.mme_ue_s1ap_id.map(UeReference::Mme));
        let f1ap = self.f1ap.iter().copied().map(UeReference::F1ap);
        let e1ap = self.e1ap.iter().copied().map(UeReference::E1ap);
        let w1ap = self.w1ap.iter().copied().map(UeReference::W1ap);
        let x2ap = self.x2ap.map(UeReference::X2ap);
        let rnti = self.rnti.zip(self.cell).map(|(rnti, cell)| UeReference::Rnti { rnti, of: RntiScope::Cell(cell) });
        let ip = self.context.addresses.iter().copied().map(UeReference::Ip);
        core.chain(f1ap).chain(e1ap).chain(w1ap).chain(x2ap).chain(rnti).chain(ip).collect()
    }

    /// The reference that stays the same for the longest time; `None` of a UE whose C-RNTI alone is known, without its cell.
    #[must_use]
    pub fn reference(&self) -> Option<UeReference> {
        self.references().into_iter().next()
    }

    /// The known parts with their names in REST and in JSON lines. Numbers are numbers; a cell has nine hexadecimal digits, an
    /// S-NSSAI is `1` or `1-00000a`, a GUAMI `00101:1:1:1`, a GUMMEI `00101:1:1`.
    #[must_use]
    pub fn fields(&self) -> Vec<(&'static str, IdentityField)> {
        use IdentityField::{Number, Numbers, Text, Texts};
        let plmn = |[a, b, c, ..]: [u8; 6]| PlmnIdentity([a, b, c]);
        let guami = |octets: [u8; 6]| {
            let [_, _, _, region, set, pointer] = octets;
            let low = u16::from_be_bytes([set, pointer]);
            Text(format!("{}:{region}:{}:{}", plmn(octets), low >> 6, low & 0x3f))
        };
        let gummei = |octets: [u8; 6]| {
            let [_, _, _, group @ .., code] = octets;
            Text(format!("{}:{}:{code}", plmn(octets), u16::from_be_bytes(group)))
        };
        let numbers = |ids: &[u32]| (!ids.is_empty()).then(|| Numbers(ids.to_vec()));
        let texts = |texts: Vec<String>| (!texts.is_empty()).then_some(Texts(texts));
        let hexadecimal = |octets: [u8; 8]| Text(octets.iter().map(|octet| format!("{octet:02x}")).collect());
        let UeContext { plmn: network, s_nssais, addresses, .. } = &self.context;
        let fields = [
            ("amf_ue_ngap_id", self.amf_ue_ngap_id.map(Number)),
            ("guami", self.guami.map(guami)),
            ("mme_ue_s1ap_id", self.mme_ue_s1ap_id.map(|id| Number(id.into()))),
            ("gummei", self.gummei.map(gummei)),
            ("gnb_cu_ue_f1ap_ids", numbers(&self.f1ap)),
            ("gnb_cu_cp_ue_e1ap_ids", numbers(&self.e1ap)),
            ("ng_enb_cu_ue_w1ap_ids", numbers(&self.w1ap)),
            ("m_enb_ue_x2ap_id", self.x2ap.map(|id| Number(id.into()))),
            ("ran_ue_id", self.ran_ue_id.map(hexadecimal)),
            ("rnti", self.rnti.map(|rnti| Number(rnti.into()))),
            ("cell", self.cell.map(|cell| Text(RntiScope::Cell(cell).to_string()))),
            ("plmn", network.map(|plmn| Text(plmn.to_string()))),
            ("s_nssais", texts(s_nssais.iter().map(s_nssai).collect())),
            ("ip", texts(addresses.iter().map(Ipv4Addr::to_string).collect())),
        ];
        fields.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }
}

/// An S-NSSAI in the notation of TS 23.003 28.4.2: the type in decimal digits, the differentiator in six hexadecimal ones.
fn s_nssai(s_nssai: &SNssai) -> String {
    let [sst] = s_nssai.sst.0;
    match s_nssai.sd {
        None => sst.to_string(),
        Some(sd) => {
            let [a, b, c] = sd.0;
            format!("{sst}-{a:02x}{b:02x}{c:02x}")
        }
    }
}

impl fmt::Display for UeIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let references = self.references();
        if references.is_empty() {
            return match self.rnti {
                Some(rnti) => write!(f, "rnti:{rnti:#06x}"),
                None => f.write_str("unnamed"),
            };
        }
        for (at, reference) in references.iter().enumerate() {
            write!(f, "{}{reference}", if at == 0 { "" } else { " " })?;
        }
        Ok(())
    }
}

impl RanDatabase {
    /// Returns all names of a UE. If no report states its cell, it is the only cell of a node that has reported it.
    #[must_use]
    pub fn identity(&self, ue: &Ue) -> UeIdentity {
        let mut identity = UeIdentity::of(ue.names(), ue.context().clone());
        if identity.cell.is_none() {
            identity.cell = ue.views().iter().find_map(|view| self.only_cell(view.node));
        }
        identity
    }
}
