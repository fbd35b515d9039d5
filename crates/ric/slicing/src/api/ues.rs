//! `/v1/nodes/{node}/ues`: UEs and their slices.

use e2sm::common::{Cgi, PlmnIdentity, SNssai, Sd, Sst};
use e2sm::slice::{ControlMessage, NO_SLICE, UeSlices};
use rest::{Method, StatusCode};
use serde::{Deserialize, Deserializer, Serialize};

use super::super::SlicingController;
use super::super::associations::SNssaiPattern;
use super::super::controls::Plan;
use super::super::direction::Direction;
use super::super::node::{Node, Slices};
use super::{AppQueue, Read, named, order, reading, slices_of};
use iapp_rest::Job;
use rest::{Problem, Request, Response, Route, not_null};

pub(super) fn routes(queue: &AppQueue) -> Vec<Route> {
    vec![
        reading("/v1/nodes/{node}/ues", queue, |_| {
            let read: Read = Box::new(|node| {
                let ues = node.rntis().into_iter().map(|rnti| UeDocument::of(node, rnti)).collect();
                Ok(Response::ok(List { ues, omitted: node.ues.omitted }))
            });
            Ok(read)
        }),
        reading("/v1/nodes/{node}/ues/{rnti}", queue, |request| {
            let rnti = rnti(request)?;
            let read: Read = Box::new(move |node| Ok(Response::ok(UeDocument::of(node, known(node, rnti)?))));
            Ok(read)
        }),
        reading("/v1/nodes/{node}/ues/{rnti}/slices", queue, |request| {
            let rnti = rnti(request)?;
            let read: Read = Box::new(move |node| {
                slices_of(node)?;
                Ok(Response::ok(SliceAssociation::of(node.slices_of(known(node, rnti)?))))
            });
            Ok(read)
        }),
        Route::queued(Method::PUT, "/v1/nodes/{node}/ues/{rnti}/slices", queue, |request| {
            let (node, rnti, wanted) = (request.parameter(0).to_owned(), rnti(request)?, request.json::<Change>()?);
            wanted.check()?;
            let job: Job<SlicingController> = Box::new(move |app, ric, reply| {
                if let Err(problem) = named(&app.database, &node).and_then(slices_of) {
                    return reply.send(Err(problem));
                }
                let plan = move |node: &Node| {
                    wanted.check_in(slices_of(node)?)?;
                    Ok(Plan::one(wanted.control(node.slices_of(rnti))))
                };
                let answer = move |node: &Node, done: Result<_, Problem>| match done {
                    Ok(_) => Ok(Response::ok(SliceAssociation::of(node.slices_of(rnti)))),
                    // the node knows best which UEs exist
                    Err(problem)
                        if problem.status() == StatusCode::UNPROCESSABLE_ENTITY && known(node, rnti).is_err() =>
                    {
                        Err(problem.with_status(StatusCode::NOT_FOUND))
                    }
                    Err(problem) => Err(problem),
                };
                order(app, ric, &node, Box::new(plan), reply, Box::new(answer));
            });
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

#[derive(Serialize)]
struct List {
    ues: Vec<UeDocument>,
    omitted: u64,
}

#[derive(Serialize)]
struct UeDocument {
    rnti: u16,
    /// Reported by RRC only.
    #[serde(flatten)]
    service: Option<Service>,
    slices: SliceAssociation,
}

#[derive(Serialize)]
struct Service {
    cell: String,
    plmn: String,
    s_nssais: Vec<SNssaiDocument>,
}

impl UeDocument {
    fn of(node: &Node, rnti: u16) -> Self {
        let service = node.ues.get(rnti).map(|ue| Service {
            cell: match &ue.cell {
                Cgi::NrCgi(cell) => format!("nr-{}-{:09x}", cell.plmn_identity, cell.nr_cell_identity.value),
                Cgi::EutraCgi(cell) => format!("eutra-{}-{:07x}", cell.plmn_identity, cell.eutra_cell_identity.value),
            },
            plmn: ue.plmn.to_string(),
            s_nssais: ue.s_nssais.iter().map(SNssaiDocument::of).collect(),
        });
        UeDocument { rnti, service, slices: SliceAssociation::of(node.slices_of(rnti)) }
    }
}

/// The slices of a UE; null for none.
#[derive(Serialize)]
struct SliceAssociation {
    dl: Option<u32>,
    ul: Option<u32>,
}

impl SliceAssociation {
    fn of(ue: UeSlices) -> Self {
        let of = |id| (id != NO_SLICE).then_some(id);
        SliceAssociation { dl: of(ue.dl_id), ul: of(ue.ul_id) }
    }
}

/// The new slices of a UE; null for none; an absent direction stays.
#[derive(Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object: slices of a UE")]
struct Change {
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
    fn check(self) -> Result<(), Problem> {
        if self.dl.is_none() && self.ul.is_none() {
            return Err(Problem::unprocessable("neither `dl` nor `ul`: at least one is required"));
        }
        if [self.dl, self.ul].contains(&Some(Some(NO_SLICE))) {
            return Err(Problem::unprocessable(format!("{NO_SLICE} means no slice; write null")));
        }
        Ok(())
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
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object: an S-NSSAI")]
pub(super) struct SNssaiDocument {
    sst: u8,
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    sd: Option<String>,
}

impl SNssaiDocument {
    fn of(s_nssai: &SNssai) -> Self {
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
