//! The UE of a control: the names that the user gave, and those that the parts of its base station report.

use std::collections::BTreeSet;
use std::str::FromStr;

use anyhow::{Context, bail};
use e2sm::common::{AmfUeNgapId, GnbCuUeF1apId, Guami, PlmnIdentity, UeId, UeIdGnbDu};
use ferric::e2::NodeId;
use ferric::e2::topology::{BaseStation, Part, RanDatabase, Ue, UeName, UeReference};
use ferric::e2ap::GlobalE2NodeId;
use per::Bits;

#[derive(clap::Args)]
pub(super) struct UeArgs {
    /// UE, by any name that `ferric xapp kpm` prints: amf:N (or N), f1ap:N, e1ap:N, rnti:0xN@CELL, rnti:0xN@NODE, ip:ADDRESS, ...
    #[arg(long, value_name = "UE")]
    ue: UeReference,
    /// AMF of a UE amf:N in the node's PLMN: region, set and pointer. [default: as reported, or 1:1:1]
    #[arg(long, value_name = "REGION:SET:POINTER")]
    amf: Option<Amf>,
    /// gNB-CU-UE-F1AP-ID of the UE, if its base station does not report it. Up to four.
    #[arg(long, value_name = "N")]
    f1ap_id: Vec<u32>,
    /// gNB-CU-CP-UE-E1AP-ID of the UE, if its base station does not report it. Up to eight.
    #[arg(long, value_name = "N")]
    e1ap_id: Vec<u32>,
    /// Slice of the UE (SST), whose UEs the parts of a split base station are asked for.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub sst: u8,
}

#[derive(Clone, Copy)]
struct Amf {
    region: u8,
    set: u16,
    pointer: u8,
}

impl FromStr for Amf {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const FORM: &str = "an AMF is a region of 8 bits, a set of 10 and a pointer of 6, such as 1:1:1";
        let mut parts = text.split(':');
        let mut next = || parts.next().ok_or(FORM)?.parse::<u16>().map_err(|_| FORM);
        let (region, set, pointer) = (next()?, next()?, next()?);
        if parts.next().is_some() || region > 255 || set > 1023 || pointer > 63 {
            return Err(FORM);
        }
        Ok(Amf { region: region as u8, set, pointer: pointer as u8 })
    }
}

impl Amf {
    fn guami(self, plmn_identity: PlmnIdentity) -> Guami {
        Guami {
            plmn_identity,
            amf_region_id: Bits::new(self.region.into(), 8),
            amf_set_id: Bits::new(self.set.into(), 10),
            amf_pointer: Bits::new(self.pointer.into(), 6),
        }
    }
}

/// The UE that a control names.
pub(super) enum WantedUe<'a> {
    /// One UE.
    Named(&'a UeArgs),
    /// None in particular. DUs of some implementations require one that they know.
    AnyOfDu {
        /// The one that the user gave.
        f1ap_id: Option<u32>,
    },
}

impl WantedUe<'_> {
    /// Refuses arguments that contradict each other.
    pub fn check(&self) -> anyhow::Result<()> {
        let WantedUe::Named(args) = self else { return Ok(()) };
        if args.f1ap_id.len() > 4 {
            bail!("a UE has up to four gNB-CU-UE-F1AP-IDs, not {}", args.f1ap_id.len());
        }
        if args.e1ap_id.len() > 8 {
            bail!("--e1ap-id can be given up to eight times, not {}", args.e1ap_id.len());
        }
        Ok(())
    }

    /// Whether any node may know the UE by this name: it says neither the UE ID nor the base station.
    pub fn may_be_anywhere(&self) -> bool {
        let WantedUe::Named(args) = self else { return false };
        !matches!(args.ue, UeReference::Amf(_) | UeReference::F1ap(_) | UeReference::E1ap(_))
    }

    /// Whether nodes have reported a UE of which one name is sufficient.
    pub fn is_found(&self, ran: &RanDatabase) -> bool {
        let WantedUe::Named(args) = self else { return false };
        self.may_be_anywhere() && ran.resolve(&args.ue).is_ok_and(|ue| ran.identity(ue).amf_ue_ngap_id.is_some())
    }

    /// Whether reports of the parts of a base station can identify the UE further than the user did: of a split base station, or
    /// of a DU that may require any UE.
    pub fn needs_reports(&self, node: &GlobalE2NodeId, parts: usize) -> bool {
        let is_split = parts > 1 || Part::of(node) != Part::Control;
        match self {
            WantedUe::Named(args) => is_split && args.f1ap_id.is_empty() && args.e1ap_id.is_empty(),
            WantedUe::AnyOfDu { f1ap_id } => f1ap_id.is_none() && matches!(Part::of(node), Part::Du(_)),
        }
    }

    /// The UE ID for a node.
    ///
    /// # Errors
    /// A text for the user: what is unknown, and how to give it.
    pub fn id_for(&self, node: NodeId, global_id: &GlobalE2NodeId, ran: &RanDatabase) -> anyhow::Result<UeId<'static>> {
        let args = match self {
            WantedUe::Named(args) => args,
            WantedUe::AnyOfDu { f1ap_id: Some(id) } => return Ok(of_du(*id)),
            WantedUe::AnyOfDu { f1ap_id: None } => return Ok(any_ue(node, ran).unwrap_or_else(|| of_du(0))),
        };
        let known = if self.may_be_anywhere() { Some(args.find_anywhere(node, ran)?) } else { args.find(node, ran)? };
        let mut names = known.map(|ue| ue.names_for(node)).unwrap_or_default();
        let given = args.given(global_id.plmn_identity(), known.is_none());
        let kind = core::mem::discriminant::<UeName>;
        names.retain(|name| given.iter().all(|given| kind(given) != kind(name)));
        names.extend(given);
        UeName::to_ue_id(&names, global_id).context(match Part::of(global_id) {
            Part::Control => "the AMF-UE-NGAP-ID of the UE is unknown: give --ue amf:N, and --f1ap-id or --e1ap-id",
            Part::Du(_) => "the gNB-CU-UE-F1AP-ID of the UE is unknown: give --f1ap-id",
            Part::CuUp(_) => "the gNB-CU-CP-UE-E1AP-ID of the UE is unknown: give --e1ap-id",
        })
    }
}

impl UeArgs {
    /// The names that the user gave. A UE that no node has reported is at AMF 1:1:1.
    fn given(&self, plmn_identity: PlmnIdentity, is_unknown: bool) -> BTreeSet<UeName> {
        let mut names = BTreeSet::new();
        let assumed = is_unknown.then_some(Amf { region: 1, set: 1, pointer: 1 });
        match (&self.ue, self.amf.or(assumed)) {
            (UeReference::Amf(number), Some(amf)) => {
                // 40 bits
                names.insert(UeName::ngap(&amf.guami(plmn_identity), AmfUeNgapId(*number as i64)));
            }
            (UeReference::F1ap(number), _) => {
                names.insert(UeName::F1ap(*number));
            }
            (UeReference::E1ap(number), _) => {
                names.insert(UeName::E1ap(*number));
            }
            _ => {}
        }
        names.extend(self.f1ap_id.iter().map(|id| UeName::F1ap(*id)));
        names.extend(self.e1ap_id.iter().map(|id| UeName::E1ap(*id)));
        names
    }

    /// The UE that any node has reported by this name, if the base station of `node` serves it.
    fn find_anywhere<'r>(&self, node: NodeId, ran: &'r RanDatabase) -> anyhow::Result<&'r Ue> {
        let ue = ran.resolve(&self.ue)?;
        if ran.station_of(node).map(BaseStation::id) != Some(ue.station()) {
            bail!("the UE is {}", ran.describe(ue));
        }
        Ok(ue)
    }

    /// The UE that the node's base station has reported by one of these names.
    fn find<'r>(&self, node: NodeId, ran: &'r RanDatabase) -> anyhow::Result<Option<&'r Ue>> {
        let Some(station) = ran.station_of(node) else { return Ok(None) };
        let is_it = |name: &UeName| {
            let is_of_amf = |amf: Amf| match *name {
                UeName::Ngap { guami: [a, b, c, ..], amf_ue_ngap_id } => {
                    let id = AmfUeNgapId(amf_ue_ngap_id as i64); // 40 bits
                    UeName::ngap(&amf.guami(PlmnIdentity([a, b, c])), id) == *name
                }
                _ => true,
            };
            self.ue.is(name, "") && self.amf.is_none_or(is_of_amf)
        };
        let mut found = ran.ues_of(station.id()).filter(|ue| ue.names().any(is_it));
        match (found.next(), found.next()) {
            (Some(_), Some(_)) => bail!("UEs of several AMFs have this number: give --amf"),
            (found, _) => Ok(found),
        }
    }
}

fn of_du(id: u32) -> UeId<'static> {
    UeId::GnbDu(UeIdGnbDu { gnb_cu_ue_f1ap_id: GnbCuUeF1apId(id), ran_ueid: None, cell_rnti: None })
}

/// A UE that a DU has reported.
fn any_ue(node: NodeId, ran: &RanDatabase) -> Option<UeId<'static>> {
    let mut ues = ran.ues_of(ran.station_of(node)?.id());
    ues.find_map(|ue| ran.ue_id_for(node, ue).filter(|id| matches!(id, UeId::GnbDu(_))))
}
