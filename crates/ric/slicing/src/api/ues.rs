//! `/v1/nodes/{node}/ues`: UEs and their slices.

use e2sm::common::{CellIdentity, PlmnIdentity, SNssai, Sd, Sst};
use e2sm::slice::{ControlMessage, NO_SLICE, UeSlices};
use ferric::e2::topology::cell_identity;
use ferric::server::IappContext;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::super::SlicingController;
use super::super::associations::SNssaiPattern;
use super::super::controls::Plan;
use super::super::direction::Direction;
use super::super::node::{Node, Slices};
use super::{AppQueue, CHANGES, NODE, RNTI, Read, named, order, reading, slices_of};
use iapp_rest::Job;
use rest::{Operation, Problem, Reply, Request, Response, Route, StatusCode, not_null};

pub(super) fn routes(queue: &AppQueue) -> Vec<Route> {
    const UE: &str = "/v1/nodes/{node}/ues/{rnti}";
    const SLICES: &str = "/v1/nodes/{node}/ues/{rnti}/slices";
    let get = |path, id, summary| Operation::get(path, id, summary).tag("ues");
    let all = get("/v1/nodes/{node}/ues", "getUes", "The UEs of a node").path(&[NODE]).returns::<List>("The UEs.");
    let one = get(UE, "getUe", "A UE").path(&[NODE, RNTI]).returns::<UeDocument>("The UE.");
    let slices = get(SLICES, "getUeSlices", "The slices of a UE").path(&[NODE, RNTI]);
    let change = Operation::put(SLICES, "putUeSlices", "Move a UE to other slices").tag("ues").path(&[NODE, RNTI]);
    let change = change.takes::<Change>().example(serde_json::json!({ "dl": 1 })).describe(CHANGES);
    vec![
        reading(all, queue, |_| {
            let read: Read = Box::new(|node| {
                let ues = node.rntis().into_iter().map(|rnti| UeDocument::of(node, rnti)).collect();
                Ok(Response::ok(List { ues, omitted: node.ues.omitted }))
            });
            Ok(read)
        }),
        reading(one, queue, |request| {
            let rnti = rnti(request)?;
            let read: Read = Box::new(move |node| Ok(Response::ok(UeDocument::of(node, known(node, rnti)?))));
            Ok(read)
        }),
        reading(slices.returns::<SliceAssociation>("The slices."), queue, |request| {
            let rnti = rnti(request)?;
            let read: Read = Box::new(move |node| {
                slices_of(node)?;
                Ok(Response::ok(SliceAssociation::of(node.slices_of(known(node, rnti)?))))
            });
            Ok(read)
        }),
        Route::queued(change.returns::<SliceAssociation>("The slices after the change."), queue, |request| {
            let (node, rnti, wanted) = (request.parameter(0).to_owned(), rnti(request)?, request.json::<Change>()?);
            wanted.check()?;
            let job: Job<SlicingController> =
                Box::new(move |app, ric, reply| wanted.order(app, ric, &node, rnti, reply));
            Ok(job)
        }),
    ]
}

fn rnti(request: &Request) -> Result<u16, Problem> {
    request.number(1, "UE")
}

fn known(node: &Node, rnti: u16) -> Result<u16, Problem> {
    let is_known = node.rntis().binary_search(&rnti).is_ok();
    is_known.then_some(rnti).ok_or_else(|| Problem::not_found(format!("the node has no UE with RNTI {rnti}")))
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Ues")]
struct List {
    ues: Vec<UeDocument>,
    /// The number of omitted UEs.
    omitted: u64,
}

/// A UE. Fields from RRC are present if the node offers RRC.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Ue")]
struct UeDocument {
    /// Its C-RNTI.
    rnti: u16,
    /// Reported by RRC only.
    #[serde(flatten)]
    service: Option<Service>,
    slices: SliceAssociation,
}

#[derive(Serialize, JsonSchema)]
struct Service {
    /// Its cell, from RRC: `00e000000`.
    cell: String,
    /// The mobile country code and mobile network code: five or six digits.
    #[schemars(regex(pattern = "^[0-9]{5,6}$"))]
    plmn: String,
    s_nssais: Vec<SNssaiDocument>,
}

impl UeDocument {
    fn of(node: &Node, rnti: u16) -> Self {
        let service = node.ues.get(rnti).map(|ue| Service {
            cell: CellIdentity(cell_identity(&ue.cell)).to_string(),
            plmn: ue.plmn.to_string(),
            s_nssais: ue.s_nssais.iter().map(SNssaiDocument::of).collect(),
        });
        UeDocument { rnti, service, slices: SliceAssociation::of(node.slices_of(rnti)) }
    }
}

/// The slices of a UE; null for none.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Membership")]
pub(super) struct SliceAssociation {
    dl: Option<u32>,
    ul: Option<u32>,
}

impl SliceAssociation {
    pub fn of(ue: UeSlices) -> Self {
        let of = |id| (id != NO_SLICE).then_some(id);
        SliceAssociation { dl: of(ue.dl_id), ul: of(ue.ul_id) }
    }
}

/// The new slices of a UE; null for none; an absent direction stays.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "an object: slices of a UE")]
#[schemars(rename = "Move", extend("minProperties" = 1))]
pub(super) struct Change {
    #[serde(default, deserialize_with = "present")]
    dl: Option<Option<u32>>,
    #[serde(default, deserialize_with = "present")]
    ul: Option<Option<u32>>,
}

/// Reads a present value, null included.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<u32>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

impl Change {
    pub fn check(self) -> Result<(), Problem> {
        if self.dl.is_none() && self.ul.is_none() {
            return Err(Problem::unprocessable("neither `dl` nor `ul`: at least one is required"));
        }
        if [self.dl, self.ul].contains(&Some(Some(NO_SLICE))) {
            return Err(Problem::unprocessable(format!("{NO_SLICE} means no slice; write null")));
        }
        Ok(())
    }

    /// Moves a UE of a node, and answers once the node has.
    pub fn order(self, app: &mut SlicingController, ric: &mut IappContext<'_>, node: &str, rnti: u16, reply: Reply) {
        if let Err(problem) = named(&app.database, node).and_then(slices_of) {
            return reply.send(Err(problem));
        }
        let plan = move |node: &Node| {
            self.check_in(slices_of(node)?)?;
            Ok(Plan::one(self.control(node.slices_of(rnti))))
        };
        let answer = move |node: &Node, done: Result<_, Problem>| match done {
            Ok(_) => Ok(Response::ok(SliceAssociation::of(node.slices_of(rnti)))),
            // the node knows best which UEs exist
            Err(problem) if problem.status() == StatusCode::UNPROCESSABLE_ENTITY && known(node, rnti).is_err() => {
                Err(problem.with_status(StatusCode::NOT_FOUND))
            }
            Err(problem) => Err(problem),
        };
        order(app, ric, node, Box::new(plan), reply, Box::new(answer));
    }

    /// Checks the slices, since nodes accept any slice in a direction without slices.
    fn check_in(self, there: &Slices) -> Result<(), Problem> {
        for (direction, wanted) in [(Direction::Downlink, self.dl), (Direction::Uplink, self.ul)] {
            if let Some(Some(id)) = wanted.filter(|_| there.of(direction).slices.is_empty()) {
                return Err(Problem::unprocessable(format!("there is no {direction} slice {id}")));
            }
        }
        Ok(())
    }

    fn control(self, now: UeSlices) -> ControlMessage<'static> {
        let to = |wanted: Option<Option<u32>>, now| wanted.map_or(now, |id| id.unwrap_or(NO_SLICE));
        let ue = UeSlices { dl_id: to(self.dl, now.dl_id), ul_id: to(self.ul, now.ul_id), rnti: now.rnti };
        ControlMessage::Associate(vec![ue].into())
    }
}

/// An S-NSSAI in the notation of TS 23.003 28.4.2: the type, and six hexadecimal digits.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "an object: an S-NSSAI")]
#[schemars(rename = "SNssai")]
pub(super) struct SNssaiDocument {
    /// The slice/service type.
    sst: u8,
    /// The slice differentiator: six hexadecimal digits.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", regex(pattern = "^[0-9A-Fa-f]{6}$"))]
    sd: Option<String>,
}

impl SNssaiDocument {
    pub fn of(s_nssai: &SNssai) -> Self {
        let SNssai { sst: Sst([sst]), sd } = *s_nssai;
        SNssaiDocument::new(sst, sd.map(|Sd(sd)| sd))
    }

    pub fn new(sst: u8, sd: Option<[u8; 3]>) -> Self {
        SNssaiDocument { sst, sd: sd.map(|[a, b, c]| format!("{a:02x}{b:02x}{c:02x}")) }
    }

    pub fn pattern(&self) -> Result<SNssaiPattern, Problem> {
        let octets = |sd: &str| {
            let digits = sd.len() == 6 && sd.bytes().all(|digit| digit.is_ascii_hexdigit());
            let number = u32::from_str_radix(sd, 16).ok().filter(|_| digits)?;
            let [_, a, b, c] = number.to_be_bytes();
            Some([a, b, c])
        };
        let sd = match &self.sd {
            None => None,
            Some(sd) => Some(octets(sd).ok_or_else(|| {
                Problem::unprocessable(format!("s_nssai.sd: `{sd}` is not six hexadecimal digits"))
                    .with("at", "s_nssai.sd")
            })?),
        };
        Ok(SNssaiPattern { sst: self.sst, sd })
    }
}

/// Reads a PLMN from its digits.
pub(super) fn plmn(digits: &str) -> Result<PlmnIdentity, Problem> {
    let problem = |_| Problem::unprocessable(format!("plmn: `{digits}` is not five or six digits")).with("at", "plmn");
    digits.parse().map_err(problem)
}
