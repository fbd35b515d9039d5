//! `/v1/associations` and `/v1/nodes/{node}/associations`: rules by which UEs belong to slices.

use std::collections::HashMap;

use e2sm::slice::NO_SLICE;
use rest::Method;
use serde::{Deserialize, Serialize};

use super::super::SlicingController;
use super::super::associations::{Rule, RuleOfUe, RuleState};
use super::ues::{SNssaiDocument, plmn};
use super::{AppDesk, list, named};
use iapp_rest::Job;
use rest::{Problem, Request, Response, Route, not_null};

pub(super) fn routes(desk: &AppDesk) -> Vec<Route> {
    let mut routes = routes_of(desk, "/v1/associations", "/v1/associations/{association}", |_| None);
    let (all, one) = ("/v1/nodes/{node}/associations", "/v1/nodes/{node}/associations/{association}");
    routes.extend(routes_of(desk, all, one, |request| Some(request.parameter(0).to_owned())));
    routes
}

/// The routes of the rules of one node, or of those for all.
fn routes_of(desk: &AppDesk, all: &'static str, one: &'static str, node: fn(&Request) -> Option<String>) -> Vec<Route> {
    let id = move |request: &Request| {
        let at = usize::from(node(request).is_some());
        request.number::<u32>(at, "association")
    };
    vec![
        Route::queued(Method::GET, all, desk, move |request| {
            let node = node(request);
            let job: Job<SlicingController> = Box::new(move |app, _, reply| {
                let answer = is_known(app, node.as_deref())
                    .map(|()| Response::ok(list("associations", Document::all(app, |rule| rule.node == node))));
                reply.send(answer);
            });
            Ok(job)
        }),
        Route::queued(Method::POST, all, desk, move |request| {
            let (node, path) = (node(request), request.path.clone());
            let rule = request.json::<Wanted>()?.rule(node.clone())?;
            let job: Job<SlicingController> = Box::new(move |app, ric, reply| {
                if let Err(problem) = is_known(app, node.as_deref()) {
                    return reply.send(Err(problem));
                }
                let added = app.rules.add(rule, &mut app.database).and_then(|id| {
                    app.apply_all_rules(ric);
                    Ok(Response::created(&format!("{path}/{id}"), Document::one(app, id, |_| true)?))
                });
                app.changed_rules(reply, added);
            });
            Ok(job)
        }),
        Route::queued(Method::DELETE, all, desk, move |request| {
            let node = node(request);
            let job: Job<SlicingController> = Box::new(move |app, ric, reply| {
                let answer = is_known(app, node.as_deref()).map(|()| {
                    app.rules.delete(|rule| rule.node == node, &mut app.database);
                    app.apply_all_rules(ric);
                    Response::no_content()
                });
                app.changed_rules(reply, answer);
            });
            Ok(job)
        }),
        Route::queued(Method::GET, one, desk, move |request| {
            let (node, id) = (node(request), id(request)?);
            let job: Job<SlicingController> = Box::new(move |app, _, reply| {
                reply.send(Document::one(app, id, |rule| rule.node == node).map(Response::ok));
            });
            Ok(job)
        }),
        Route::queued(Method::DELETE, one, desk, move |request| {
            let (node, id) = (node(request), id(request)?);
            let job: Job<SlicingController> = Box::new(move |app, ric, reply| {
                let deleted = app.rules.delete(|rule| rule.id == id && rule.node == node, &mut app.database);
                app.apply_all_rules(ric);
                app.changed_rules(reply, if deleted > 0 { Ok(Response::no_content()) } else { Err(no_rule(id)) });
            });
            Ok(job)
        }),
    ]
}

fn no_rule(id: u32) -> Problem {
    Problem::not_found(format!("there is no association {id} here"))
}

/// The node is there, or was when rules were made for it.
fn is_known(app: &SlicingController, node: Option<&str>) -> Result<(), Problem> {
    let Some(name) = node else { return Ok(()) };
    let has_rules = app.rules.all().iter().any(|rule| rule.node.as_deref() == node);
    if has_rules { Ok(()) } else { named(&app.database, name).map(drop) }
}

/// A rule as it is asked for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object: an association")]
struct Wanted {
    #[serde(default, deserialize_with = "not_null")]
    plmn: Option<String>,
    #[serde(default, deserialize_with = "not_null")]
    s_nssai: Option<SNssaiDocument>,
    #[serde(default, deserialize_with = "not_null")]
    dl: Option<u32>,
    #[serde(default, deserialize_with = "not_null")]
    ul: Option<u32>,
}

impl Wanted {
    fn rule(self, node: Option<String>) -> Result<Rule, Problem> {
        if self.plmn.is_none() && self.s_nssai.is_none() {
            return Err(Problem::unprocessable("neither `plmn` nor `s_nssai`: which UEs are meant?"));
        }
        if self.dl.is_none() && self.ul.is_none() {
            return Err(Problem::unprocessable("neither `dl` nor `ul`: in which slice do they belong?"));
        }
        if [self.dl, self.ul].contains(&Some(NO_SLICE)) {
            return Err(Problem::unprocessable(format!("{NO_SLICE} means no slice")));
        }
        let plmn = self.plmn.as_deref().map(plmn).transpose()?;
        let s_nssai = self.s_nssai.map(|s_nssai| s_nssai.pattern()).transpose()?;
        Ok(Rule { id: 0, node, plmn, s_nssai, dl: self.dl, ul: self.ul })
    }
}

/// A rule as a file keeps it.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct StoredRule {
    id: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    node: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    plmn: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    s_nssai: Option<SNssaiDocument>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    dl: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ul: Option<u32>,
}

impl StoredRule {
    pub fn of(rule: &Rule) -> Self {
        let Document { id, node, plmn, s_nssai, dl, ul, ues: _ } = Document::of(rule, Vec::new());
        StoredRule { id, node, plmn, s_nssai, dl, ul }
    }

    pub fn rule(self) -> Result<Rule, Problem> {
        let StoredRule { id, node, plmn, s_nssai, dl, ul } = self;
        Ok(Rule { id, ..Wanted { plmn, s_nssai, dl, ul }.rule(node)? })
    }
}

/// A rule, and whom it fits.
#[derive(Serialize)]
struct Document {
    id: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    plmn: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    s_nssai: Option<SNssaiDocument>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dl: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ul: Option<u32>,
    /// Nobody: the rule does nothing so far.
    ues: Vec<UeOfRule>,
}

#[derive(Serialize)]
struct UeOfRule {
    node: String,
    rnti: u16,
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl Document {
    fn of(rule: &Rule, ues: Vec<UeOfRule>) -> Self {
        Document {
            id: rule.id,
            node: rule.node.clone(),
            plmn: rule.plmn.map(|plmn| plmn.to_string()),
            s_nssai: rule.s_nssai.map(|pattern| SNssaiDocument::new(pattern.sst, pattern.sd)),
            dl: rule.dl,
            ul: rule.ul,
            ues,
        }
    }

    /// The rules that `is_it` picks.
    fn all(app: &SlicingController, is_it: impl Fn(&Rule) -> bool) -> Vec<Document> {
        let mut ues: HashMap<u32, Vec<UeOfRule>> = HashMap::new();
        for node in app.database.nodes() {
            for (rnti, ue) in node.ues.iter() {
                let RuleOfUe::Fits(id, state) = &ue.rule else { continue };
                let Some(rule) = app.rules.get(*id).filter(|rule| is_it(rule)) else { continue };
                let (state, reason) = match state {
                    RuleState::Waiting => {
                        let missing = rule.missing(node);
                        ("waiting", missing.map(|(direction, id)| format!("there is no {direction} slice {id}")))
                    }
                    RuleState::Unanswered(why) => ("waiting", Some(why.clone())),
                    RuleState::UnderWay => ("under way", None),
                    RuleState::Moved => ("moved", None),
                    RuleState::Refused(why) => ("refused", Some(why.clone())),
                };
                ues.entry(*id).or_default().push(UeOfRule { node: node.name.clone(), rnti, state, reason });
            }
        }
        let rules = app.rules.all().iter().filter(|rule| is_it(rule));
        rules.map(|rule| Document::of(rule, ues.remove(&rule.id).unwrap_or_default())).collect()
    }

    /// The rule of that id, where `is_it` picks it.
    fn one(app: &SlicingController, id: u32, is_it: impl Fn(&Rule) -> bool) -> Result<Document, Problem> {
        Document::all(app, |rule| rule.id == id && is_it(rule)).pop().ok_or_else(|| no_rule(id))
    }
}
