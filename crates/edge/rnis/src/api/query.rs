//! What the queries of both versions read: their parameters, and the part of the latest state that meets them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rest::{Parameter, Problem, Request};

use crate::event::UeIds;
use crate::identity::{AssociateId, AssociateIdType, Cell, TempUeId};
use crate::model::query::{
    BearerTunnel, CELL_MEASUREMENTS, CellInfo, CellUeInfo, CellUserInfo, ErabInfo, S1UeInfo, UE_MEASUREMENTS, UeInfo,
};
use crate::model::{AssociateIdBody, MAX_LIST};
use crate::state::{BearerState, State, UeState};
use crate::tenants::Tenant;

/// Values that a list in a query may have: it is bounded by the length of the target as well.
const MAX_VALUES: usize = 4 * MAX_LIST;

pub const APP_INS_ID: Parameter = Parameter::text(
    "app_ins_id",
    "Application instances, separated by commas. They name the answer, and select nothing.",
);
pub const CELL_ID: Parameter =
    Parameter::text("cell_id", "Cell identities in hexadecimal digits, separated by commas.");
const IPV4: Parameter = Parameter::text("ue_ipv4_address", "IPv4 addresses of UEs, separated by commas.");
const IPV6: Parameter = Parameter::text("ue_ipv6_address", "IPv6 addresses of UEs, separated by commas.");
const NATED: Parameter = Parameter::text("nated_ip_address", "NATed addresses of UEs, separated by commas.");
const TEID: Parameter = Parameter::text("gtp_teid", "TEIDs of UEs in hexadecimal digits, separated by commas.");
const TEMP_UE_ID: Parameter =
    Parameter::text("temp_ue_id", "Temporary identities of UEs, separated by commas: MMEC-MTMSI, or M-TMSIs only.");
const ERAB_ID: Parameter = Parameter::of::<u8>("erab_id", "The E-RAB id; of NR the identifier of the QoS flow.");
const ERAB_IDS: Parameter = Parameter::text("erab_id", "E-RAB ids, separated by commas.");
const QCI: Parameter = Parameter::of::<u8>("qci", "The QCI; of NR the 5QI.");
const RATES: [Parameter; 4] = [
    Parameter::of::<u64>("erab_mbr_dl", "The maximum bit rate downlink, in bit/s."),
    Parameter::of::<u64>("erab_mbr_ul", "The maximum bit rate uplink, in bit/s."),
    Parameter::of::<u64>("erab_gbr_dl", "The guaranteed bit rate downlink, in bit/s."),
    Parameter::of::<u64>("erab_gbr_ul", "The guaranteed bit rate uplink, in bit/s."),
];
/// A name that the published API description of v2.2.1 misspells: generated clients have it.
const MISSPELT: Parameter = Parameter::of::<u32>(
    "received_randomly_selecte_preambles_low_range_cell",
    "As received_randomly_selected_preambles_low_range_cell, by the name that the published API description has.",
);
const LOW_RANGE: &str = "received_randomly_selected_preambles_low_range_cell";

/// The parameters of `rab_info`.
pub fn rab_parameters() -> Vec<Parameter> {
    [&[APP_INS_ID, CELL_ID, IPV4, IPV6, NATED, TEID, ERAB_ID, QCI][..], &RATES].concat()
}

/// The parameters of `s1_bearer_info`.
pub fn s1_parameters() -> Vec<Parameter> {
    vec![TEMP_UE_ID, IPV4, IPV6, NATED, TEID, CELL_ID, ERAB_IDS]
}

/// The parameters of `layer2_meas`.
pub fn layer2_parameters() -> Vec<Parameter> {
    [&[APP_INS_ID, CELL_ID, IPV4, IPV6, NATED, TEID, MISSPELT][..], CELL_MEASUREMENTS, UE_MEASUREMENTS].concat()
}

/// Reads a list; `None` without the parameter.
fn values<T>(
    request: &Request,
    name: &'static str,
    read: impl Fn(&str) -> Result<T, String>,
) -> Result<Option<Vec<T>>, Problem> {
    let Some(text) = request.query(name) else { return Ok(None) };
    let refuse = |reason: String| Problem::bad_request(format!("{name}: {reason}")).with("at", name);
    if text.split(',').nth(MAX_VALUES).is_some() {
        return Err(refuse(format!("a list has at most {MAX_VALUES} values")));
    }
    text.split(',').map(|value| read(value.trim()).map_err(refuse)).collect::<Result<_, _>>().map(Some)
}

/// The application instances of a query.
pub fn applications(request: &Request) -> Result<Vec<String>, Problem> {
    let name = |text: &str| {
        if text.is_empty() { Err("an application instance has a name".to_owned()) } else { Ok(text.to_owned()) }
    };
    Ok(values(request, "app_ins_id", name)?.unwrap_or_else(|| vec![super::tenancy::owner(request).to_owned()]))
}

/// Which cells and UEs a query is about.
pub struct Selection {
    /// Identities of cells as [`Cell::digits`] writes them, of any PLMN.
    cells: Option<BTreeSet<String>>,
    ues: Option<BTreeSet<AssociateId>>,
    temporary: Option<Vec<(Option<String>, String)>>,
    /// Within the rights of a tenant.
    tenant: Option<Arc<Tenant>>,
}

impl Selection {
    /// Reads the parameters that select cells and UEs, of those that a tenant may see.
    pub fn read(request: &Request, tenant: Option<Arc<Tenant>>) -> Result<Self, Problem> {
        let cell = |text: &str| {
            let any_plmn = ids::PlmnIdentity([0, 0xf1, 0x10]);
            let cell = Cell::from_digits(any_plmn, text).map(|cell| cell.digits());
            cell.ok_or_else(|| format!("`{text}` is not a cell identity of 1 to 9 hexadecimal digits"))
        };
        let cells = values(request, "cell_id", cell)?.map(|cells| cells.into_iter().collect());
        let mut ues: Option<BTreeSet<AssociateId>> = None;
        for (name, kind) in [
            ("ue_ipv4_address", AssociateIdType::UeIpv4),
            ("ue_ipv6_address", AssociateIdType::UeIpv6),
            ("nated_ip_address", AssociateIdType::NatedIp),
            ("gtp_teid", AssociateIdType::GtpTeid),
        ] {
            if let Some(named) = values(request, name, |text| AssociateId::read(kind, text))? {
                ues.get_or_insert_default().extend(named);
            }
        }
        let temporary = values(request, "temp_ue_id", |text| match text.split_once('-') {
            _ if text.is_empty() => Err("a temporary identity is MMEC-MTMSI, or an M-TMSI".to_owned()),
            Some((mmec, mtmsi)) => Ok((Some(mmec.to_owned()), mtmsi.to_owned())),
            None => Ok((None, text.to_owned())),
        })?;
        Ok(Selection { cells, ues, temporary, tenant })
    }

    fn has_cell(&self, cell: Cell) -> bool {
        self.cells.as_ref().is_none_or(|cells| cells.contains(&cell.digits()))
            && self.tenant.as_ref().is_none_or(|tenant| tenant.rights.permit_cell(cell))
    }

    fn names_ues(&self) -> bool {
        self.ues.is_some() || self.temporary.is_some()
    }

    /// The identity by which a UE was selected, or its first one; `None` if it is not selected. A UE without identities has the
    /// inner `None`.
    fn ue<'u>(&self, ids: &'u UeIds) -> Option<Option<&'u AssociateId>> {
        let is_temporary = |known: &TempUeId| {
            self.temporary.as_ref().is_none_or(|given| {
                let is = |(mmec, mtmsi): &(Option<String>, String)| {
                    mmec.as_ref().is_none_or(|mmec| *mmec == known.mmec) && *mtmsi == known.mtmsi
                };
                given.iter().any(is)
            })
        };
        if self.temporary.is_some() && !ids.temporary.as_ref().is_some_and(is_temporary) {
            return None;
        }
        match &self.ues {
            None => Some(ids.associate_ids.first()),
            Some(ues) => ids.associate_ids.iter().find(|id| ues.contains(id)).map(Some),
        }
    }

    /// The UEs that are selected, each with its cell and the identity by which it is selected.
    fn ues<'s>(&'s self, state: &'s State) -> impl Iterator<Item = (Cell, &'s UeState, Option<&'s AssociateId>)> {
        state.ues.values().filter_map(|ue| {
            let cell = ue.cell.filter(|cell| self.has_cell(*cell))?;
            if self.tenant.as_ref().is_some_and(|tenant| !tenant.rights.permit_ue(&ue.ids)) {
                return None;
            }
            Some((cell, ue, self.ue(&ue.ids)?))
        })
    }
}

fn bodies(ids: &UeIds) -> Vec<AssociateIdBody> {
    ids.associate_ids.iter().map(Into::into).collect()
}

/// Which bearers a query is about.
pub struct Bearers {
    erab_ids: Option<Vec<u8>>,
    qci: Option<u8>,
    rates_bps: [Option<u64>; 4],
}

impl Bearers {
    /// Reads the parameters of `rab_info`.
    pub fn read(request: &Request) -> Result<Self, Problem> {
        let mut rates_bps = [None; 4];
        for (rate, name) in rates_bps.iter_mut().zip(["erab_mbr_dl", "erab_mbr_ul", "erab_gbr_dl", "erab_gbr_ul"]) {
            *rate = request.query_number(name, 0..=u64::MAX)?;
        }
        let erab_ids = request.query_number("erab_id", 0..=u8::MAX)?.map(|id| vec![id]);
        Ok(Bearers { erab_ids, qci: request.query_number("qci", 0..=u8::MAX)?, rates_bps })
    }

    /// Reads the list of E-RAB ids of `s1_bearer_info`.
    pub fn read_list(request: &Request) -> Result<Self, Problem> {
        let id = |text: &str| text.parse().map_err(|_| format!("`{text}` is not a number from 0 to 255"));
        Ok(Bearers { erab_ids: values(request, "erab_id", id)?, qci: None, rates_bps: [None; 4] })
    }

    fn has(&self, erab_id: u8, bearer: &BearerState) -> bool {
        let rates = bearer.qos.and_then(|qos| qos.rates_bps);
        let has_rate = |(at, rate): (usize, &Option<u64>)| rate.is_none_or(|rate| rates.is_some_and(|r| r[at] == rate));
        self.erab_ids.as_ref().is_none_or(|ids| ids.contains(&erab_id))
            && self.qci.is_none_or(|qci| bearer.qos.is_some_and(|qos| qos.qci == qci))
            && self.rates_bps.iter().enumerate().all(has_rate)
    }
}

/// The cells with UEs that have one of the bearers.
pub fn cell_user_info(state: &State, selection: &Selection, bearers: &Bearers) -> Vec<CellUserInfo> {
    let mut cells: BTreeMap<Cell, Vec<UeInfo>> = BTreeMap::new();
    for (cell, ue, _) in selection.ues(state) {
        let erab_info: Vec<_> = ue
            .bearers
            .iter()
            .filter(|(id, bearer)| bearers.has(**id, bearer))
            .map(|(id, bearer)| ErabInfo { erab_id: *id, erab_qos_parameters: bearer.qos.map(Into::into) })
            .collect();
        if !erab_info.is_empty() {
            cells.entry(cell).or_default().push(UeInfo { associate_id: bodies(&ue.ids), erab_info });
        }
    }
    cells.into_iter().map(|(cell, ue_info)| CellUserInfo { ecgi: cell.into(), ue_info }).collect()
}

/// The UEs whose bearers towards the core are known.
pub fn s1_ue_info(state: &State, selection: &Selection, bearers: &Bearers) -> Vec<S1UeInfo> {
    let info = |(cell, ue, _): (Cell, &UeState, Option<&AssociateId>)| {
        let known = ue.bearers.iter().filter(|(id, bearer)| bearers.has(**id, bearer));
        let tunnels = known.filter_map(|(id, bearer)| {
            let (base_station, gateway) = bearer.tunnel.as_ref()?;
            Some(BearerTunnel { erab_id: *id, enb_info: base_station.into(), s_gw_info: gateway.into() })
        });
        let s1_bearer_info_detailed: Vec<_> = tunnels.collect();
        (!s1_bearer_info_detailed.is_empty()).then(|| S1UeInfo {
            temp_ue_id: ue.ids.temporary.clone(),
            associate_id: bodies(&ue.ids),
            ecgi: vec![cell.into()],
            s1_bearer_info_detailed,
        })
    };
    selection.ues(state).filter_map(info).collect()
}

/// The measured values that a query asks for: those of cells, and those of UEs.
pub struct Measured {
    of_cells: Vec<(&'static str, u32)>,
    of_ues: Vec<(&'static str, u32)>,
}

impl Measured {
    /// Reads the parameters.
    pub fn read(request: &Request) -> Result<Self, Problem> {
        let mut measured = Measured { of_cells: Vec::new(), of_ues: Vec::new() };
        let parameters = CELL_MEASUREMENTS.iter().map(|parameter| (parameter.name(), parameter.name(), true));
        let parameters = parameters.chain([(MISSPELT.name(), LOW_RANGE, true)]);
        let of_ues = UE_MEASUREMENTS.iter().map(|parameter| (parameter.name(), parameter.name(), false));
        for (name, member, is_of_cell) in parameters.chain(of_ues) {
            if let Some(value) = request.query_number(name, 0..=u32::MAX)? {
                let list = if is_of_cell { &mut measured.of_cells } else { &mut measured.of_ues };
                list.push((member, value));
            }
        }
        Ok(measured)
    }
}

/// The measurements of cells and UEs. A parameter of UEs leaves the cells out; one of cells alone leaves the UEs out.
pub fn layer2(state: &State, selection: &Selection, measured: &Measured) -> (Vec<CellInfo>, Vec<CellUeInfo>) {
    let (is_of_cells, is_of_ues) =
        (!measured.of_cells.is_empty(), !measured.of_ues.is_empty() || selection.names_ues());
    let mut cells = Vec::new();
    if is_of_cells || !is_of_ues {
        let selected = state.cells.iter().filter(|(cell, _)| selection.has_cell(**cell));
        let infos = selected.map(|(cell, known)| CellInfo::new((*cell).into(), known));
        cells.extend(
            infos.filter(|info| measured.of_cells.iter().all(|(name, value)| info.value(name) == Some(*value))),
        );
    }
    let mut ues = Vec::new();
    if is_of_ues || !is_of_cells {
        let named = selection.ues(state).filter_map(|(cell, ue, id)| Some((cell, ue, id?)));
        let infos = named.map(|(cell, ue, id)| CellUeInfo::new(cell.into(), id.into(), &ue.measurements));
        ues.extend(infos.filter(|info| measured.of_ues.iter().all(|(name, value)| info.value(name) == Some(*value))));
    }
    (cells, ues)
}

/// The cells that a tenant may see.
pub fn cells(state: &State, tenant: Option<&Tenant>) -> Vec<Cell> {
    let cells = state.cells.keys().copied();
    cells.filter(|cell| tenant.is_none_or(|tenant| tenant.rights.permit_cell(*cell))).collect()
}

/// What is answered if nothing meets the parameters.
pub fn no_match() -> Problem {
    Problem::not_found("nothing that is known of the radio network meets the parameters")
}
