//! `/rni/v2/queries` (MEC 012 7.3 to 7.5a).

use std::collections::BTreeSet;

use rest::{Operation, Problem, Request, Response, Route};

use super::query::{self, APP_INS_ID, Bearers, Measured, Selection};
use super::refusals::Kind;
use super::tenancy::query_rights;
use super::{Context, ROLE};
use crate::identity::Plmn;
use crate::model::TimeStamp;
use crate::model::query::{L2Meas, PlmnInfo, RabInfo, S1BearerInfo};

/// The routes.
pub fn routes(context: &Context) -> Vec<Route> {
    let route = |operation: Operation, answer: fn(&Context, &Request) -> Result<Response, Problem>| {
        let context = context.clone();
        let operation = Kind::Query.of(operation.tag("queries").role(ROLE));
        Route::new(operation, move |request| answer(&context, request))
    };
    let rab = Operation::get("/rni/v2/queries/rab_info", "QueriesRabinfoGET", "Bearers of UEs");
    let rab = rab.query(&query::rab_parameters()).returns::<RabInfo>("The bearers.");
    let plmn = Operation::get("/rni/v2/queries/plmn_info", "QueriesPlmninfoGET", "The PLMNs of the cells");
    let plmn = plmn.query(&[APP_INS_ID]).returns::<Vec<PlmnInfo>>("An item for each application instance.");
    let s1 = Operation::get("/rni/v2/queries/s1_bearer_info", "QueriesS1BearerinfoGET", "Bearers towards the core");
    let s1 = s1.query(&query::s1_parameters()).returns::<S1BearerInfo>("The bearers.");
    let layer2 = Operation::get("/rni/v2/queries/layer2_meas", "QueriesLayer2MeasGET", "Layer 2 measurements")
        .describe(
            "A measured quantity as a parameter selects the cells or UEs with this value. With parameters of cells only, the \
             answer has cells only; with parameters of UEs only, UEs only.",
        )
        .query(&query::layer2_parameters())
        .returns::<L2Meas>("The measurements.");
    vec![route(rab, rab_info), route(plmn, plmn_info), route(s1, s1_bearer_info), route(layer2, layer2_meas)]
}

/// The first application instance of a query. Answers have one.
pub fn application(request: &Request) -> Result<String, Problem> {
    Ok(query::applications(request)?.swap_remove(0))
}

fn rab_info(context: &Context, request: &Request) -> Result<Response, Problem> {
    let tenant = query_rights(&context.service, request, "rab_info")?;
    let (app_instance_id, selection, bearers) =
        (application(request)?, Selection::read(request, tenant)?, Bearers::read(request)?);
    let cell_user_info = context.service.read(|state| query::cell_user_info(state, &selection, &bearers));
    if cell_user_info.is_empty() {
        return Err(query::no_match());
    }
    let request_id = request.id.as_str().to_owned();
    Ok(Response::ok(RabInfo { time_stamp: TimeStamp::now(), app_instance_id, request_id, cell_user_info }))
}

fn plmn_info(context: &Context, request: &Request) -> Result<Response, Problem> {
    let tenant = query_rights(&context.service, request, "plmn_info")?;
    let applications = query::applications(request)?;
    let cells = context.service.read(|state| query::cells(state, tenant.as_deref()));
    let plmns: BTreeSet<Plmn> = cells.into_iter().map(|cell| cell.plmn().into()).collect();
    if plmns.is_empty() {
        return Err(query::no_match());
    }
    let (plmn, time_stamp) = (Vec::from_iter(plmns), TimeStamp::now());
    let item = |app_instance_id| PlmnInfo { time_stamp, app_instance_id, plmn: plmn.clone() };
    Ok(Response::ok(applications.into_iter().map(item).collect::<Vec<_>>()))
}

fn s1_bearer_info(context: &Context, request: &Request) -> Result<Response, Problem> {
    let tenant = query_rights(&context.service, request, "s1_bearer_info")?;
    let (selection, bearers) = (Selection::read(request, tenant)?, Bearers::read_list(request)?);
    let s1_ue_info = context.service.read(|state| query::s1_ue_info(state, &selection, &bearers));
    if s1_ue_info.is_empty() {
        return Err(query::no_match());
    }
    Ok(Response::ok(S1BearerInfo { time_stamp: TimeStamp::now(), s1_ue_info }))
}

fn layer2_meas(context: &Context, request: &Request) -> Result<Response, Problem> {
    let tenant = query_rights(&context.service, request, "layer2_meas")?;
    query::applications(request)?;
    let (selection, measured) = (Selection::read(request, tenant)?, Measured::read(request)?);
    let (cell_info, cell_ue_info) = context.service.read(|state| query::layer2(state, &selection, &measured));
    if cell_info.is_empty() && cell_ue_info.is_empty() {
        return Err(query::no_match());
    }
    Ok(Response::ok(L2Meas { time_stamp: TimeStamp::now(), cell_info, cell_ue_info }))
}
