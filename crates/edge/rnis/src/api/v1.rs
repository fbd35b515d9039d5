//! `/rni/v1`: MEC 012 v1.1.1.

use std::sync::Arc;

use rest::{Operation, Problem, Request, Response, Route};
use serde_json::json;

use super::query::{self, APP_INS_ID, Bearers, Selection};
use super::refusals::Kind;
use super::subscriptions::{check_if_match, check_link, conditional, delete, document, grant, link, replace, text_of};
use super::tenancy::{self, query_rights};
use super::{Context, ROLE, SUBSCRIPTION, channel, malformed};
use crate::criteria::{Criteria, Topic};
use crate::delivery::Target;
use crate::matcher::Key;
use crate::model::v1::{
    Body, FilterCriteriaAssoc, FilterCriteriaAssocHo, FilterCriteriaAssocQci, FilterCriteriaAssocTri, Form, Link,
    LinkList, LinkListAnswer, Name, PlmnInfo, PlmnInfoAnswer, RabInfo, RabInfoAnswer, S1BearerInfo, S1BearerInfoAnswer,
    S1BearerInfoDetailed, S1BearerSubscription, S1UeInfo, Subscription as OfV1,
};
use crate::model::{Ecgi, Fault, TimeStamp};
use crate::service::{NewSubscription, Service};
use crate::subscriptions::{Subscription, Version};

const PATH: &str = "/rni/v1/subscriptions/";

/// Declares the resources of each type of subscription.
macro_rules! types {
    ($($word:literal $id:literal $name:literal $topic:ident $body:ty,)+) => {
        /// The routes of all types.
        fn of_types(context: &Context) -> Vec<Route> {
            let mut routes = Vec::new();
            $({
                struct Named;
                impl Name for Named {
                    const NAME: &'static str = $name;
                }
                let resource = Resource {
                    topic: Topic::$topic,
                    path: concat!("/rni/v1/subscriptions/", $word),
                    one: concat!("/rni/v1/subscriptions/", $word, "/{subscriptionId}"),
                    ids: [
                        concat!($id, "SubscriptionsGET"),
                        concat!($id, "SubscriptionsPOST"),
                        concat!($id, "SubscriptionGET"),
                        concat!($id, "SubscriptionPUT"),
                        concat!($id, "SubscriptionDELETE"),
                    ],
                };
                routes.extend(resource.routes::<Named, $body>(context));
            })+
            routes
        }
    };
}

types! {
    "cell_change" "CellChange" "CellChangeSubscription" CellChange OfV1<FilterCriteriaAssocHo>,
    "s1_bearer" "S1Bearer" "S1BearerSubscription" S1Bearer S1BearerSubscription,
    "ta" "MeasTa" "MeasTaSubscription" TimingAdvance OfV1<FilterCriteriaAssoc>,
    "meas_rep_ue" "MeasRepUe" "MeasRepUeSubscription" MeasurementReport OfV1<FilterCriteriaAssocTri>,
    "rab_est" "RabEst" "RabEstSubscription" RabEstablishment OfV1<FilterCriteriaAssocQci>,
    "rab_mod" "RabMod" "RabModSubscription" RabModification OfV1<FilterCriteriaAssocQci>,
    "rab_rel" "RabRel" "RabRelSubscription" RabRelease OfV1<FilterCriteriaAssocQci>,
    "ca_reconf" "CaReConf" "CaReConfSubscription" CarrierAggregation OfV1<FilterCriteriaAssoc>,
}

/// The resource of a type.
#[derive(Clone, Copy)]
struct Resource {
    topic: Topic,
    path: &'static str,
    one: &'static str,
    /// The ids of the operations: list, create, read, update, delete.
    ids: [&'static str; 5],
}

impl Resource {
    fn routes<N: Name, T: Body>(self, context: &Context) -> Vec<Route> {
        let Resource { path, one, ids: [list_id, create_id, read_id, update_id, delete_id], .. } = self;
        let of = |operation: Operation, kind: Kind| kind.of(operation.tag("subscriptions").role(ROLE));
        let list = {
            let context = context.clone();
            let operation = Operation::get(path, list_id, "The subscriptions of this type");
            Route::new(of(operation.returns::<LinkListAnswer>("Links."), Kind::List), move |request| {
                Ok(link_list(&context, request, Some(self)))
            })
        };
        let create = {
            let operation = Operation::post(path, create_id, "Subscribe")
                .takes::<Form<N, T>>()
                .creates::<Form<N, T>>("The subscription, in the form of the request.");
            context.change(of(operation, Kind::Creation), move |context, request| {
                let form = Form::<N, T>::read(request).map_err(malformed)?;
                let owner = tenancy::owner(request);
                let accepted = self.accept(&context.service, owner, form)?;
                accepted.check_rights(&context.service, request)?;
                let uri = |key: Key| context.uri(request, &format!("{path}/{}", key.0));
                let (_, subscription) = context.service.subscribe(|key| accepted.at(owner, uri(key)))?;
                Ok(document(&subscription).created_at(&subscription.href))
            })
        };
        let read = {
            let context = context.clone();
            let operation = Operation::get(one, read_id, "A subscription").path(&[SUBSCRIPTION]);
            let operation = operation.returns::<Form<N, T>>("The subscription, with an ETag.");
            Route::new(of(operation, Kind::Representation), move |request| {
                Ok(document(&self.find(&context, request)?.1))
            })
        };
        let update = {
            let operation = Operation::put(one, update_id, "Change or renew a subscription")
                .path(&[SUBSCRIPTION])
                .takes::<Form<N, T>>()
                .returns::<Form<N, T>>("The subscription, in the form of the request, with an ETag.");
            context.change(of(operation, Kind::Replacement), move |context, request| {
                let (key, subscription) = self.find(context, request)?;
                check_if_match(request, &subscription)?;
                let mut form = Form::<N, T>::read(request).map_err(malformed)?;
                check_link(form.body.common().1.as_ref().map(|links| &*links.own), key)?;
                let owner = tenancy::owner(request);
                let accepted = self.accept(&context.service, owner, form)?;
                accepted.check_rights(&context.service, request)?;
                let new = accepted.at(owner, subscription.href.to_string());
                replace(context, key, new, conditional(request, &subscription))
            })
        };
        let delete = {
            let operation = Operation::delete(one, delete_id, "End a subscription").path(&[SUBSCRIPTION]).empties();
            context.change(of(operation, Kind::Deletion), move |context, request| {
                self.find(context, request)?;
                delete(context, request, Version::V1)
            })
        };
        vec![list, create, read, update, delete]
    }

    /// The subscription that a request names, if it is of this type.
    fn find(self, context: &Context, request: &Request) -> Result<(Key, Arc<Subscription>), Problem> {
        let (key, subscription) = context.subscription(request, Version::V1)?;
        if subscription.criteria.topic == self.topic {
            Ok((key, subscription))
        } else {
            Err(super::no_subscription(key))
        }
    }

    /// Checks a body, and completes it.
    fn accept<N: Name, T: Body>(
        self,
        service: &Service,
        owner: &str,
        mut form: Form<N, T>,
    ) -> Result<Accepted<N, T>, Fault> {
        let mut check = || {
            form.body.complete();
            let criteria = form.body.criteria(self.topic)?;
            let (callback, _, deadline) = form.body.common();
            let target = channel::check(service, owner, callback)?;
            *deadline = grant(service, *deadline)?;
            Ok((criteria, target))
        };
        let checked = check();
        let is_wrapped = form.is_wrapped;
        let (criteria, target) =
            checked.map_err(|fault: Fault| if is_wrapped { fault.within(N::NAME) } else { fault })?;
        Ok(Accepted { form, criteria, target })
    }
}

/// A body that can become a subscription.
struct Accepted<N, T> {
    form: Form<N, T>,
    criteria: Criteria,
    target: Target,
}

impl<N: Name, T: Body> Accepted<N, T> {
    /// Checks that events can meet the criteria within the rights of the tenant.
    fn check_rights(&self, service: &Service, request: &Request) -> Result<(), Problem> {
        let within = self.form.is_wrapped.then_some(N::NAME);
        tenancy::check_criteria(service, request, &self.criteria, Version::V1, within)
    }

    /// The subscription at a URI.
    fn at(self, owner: &str, href: String) -> NewSubscription {
        let Accepted { mut form, criteria, target } = self;
        let (_, links, deadline) = form.body.common();
        *links = Some(Link { own: href.clone() });
        let deadline = *deadline;
        let target = channel::with_links(target, &json!({ "self": href }));
        let subscriber = tenancy::subscriber(owner, form.body.application());
        let (owner, version, document) = (owner.into(), Version::V1, text_of(&form.document()));
        let subscription = Subscription { owner, subscriber, version, href: href.into(), criteria, deadline, document };
        NewSubscription { subscription, target, is_tested: false }
    }
}

/// The routes.
pub fn routes(context: &Context) -> Vec<Route> {
    let query = |operation: Operation, answer: fn(&Context, &Request) -> Result<Response, Problem>| {
        let context = context.clone();
        let operation = Kind::Query.of(operation.tag("queries").role(ROLE));
        Route::new(operation, move |request| answer(&context, request))
    };
    let rab = Operation::get("/rni/v1/queries/rab_info", "rab_infoGET", "Bearers of UEs");
    let rab = rab.query(&query::rab_parameters()).returns::<RabInfoAnswer>("The bearers.");
    let plmn = Operation::get("/rni/v1/queries/plmn_info", "plmn_infoGET", "The cells and their PLMNs");
    let plmn = plmn.query(&[APP_INS_ID]).returns::<PlmnInfoAnswer>("The cells.");
    let s1 = Operation::get("/rni/v1/queries/s1_bearer_info", "s1_bearer_infoGET", "Bearers towards the core");
    let s1 = s1.query(&query::s1_parameters()).returns::<S1BearerInfoAnswer>("The bearers.");
    let list = Operation::get(PATH, "SubscriptionLinkListGET", "All subscriptions of the application")
        .tag("subscriptions")
        .role(ROLE)
        .returns::<LinkListAnswer>("Links.");
    let list = Kind::List.of(list);
    // clients often write the path without the slash that the standard has
    let same = Operation::get(PATH.trim_end_matches('/'), "", "").role(ROLE).undocumented();
    let same = same.returns::<LinkListAnswer>("Links.");
    let lists = [list, same].map(|operation| {
        let context = context.clone();
        Route::new(operation, move |request| Ok(link_list(&context, request, None)))
    });
    let mut routes = vec![query(rab, rab_info), query(plmn, plmn_info), query(s1, s1_bearer_info)];
    routes.extend(lists);
    routes.extend(of_types(context));
    routes
}

fn link_list(context: &Context, request: &Request, of: Option<Resource>) -> Response {
    let found = context.service.find(|it| {
        *it.owner == *tenancy::owner(request)
            && it.version == Version::V1
            && of.is_none_or(|of| of.topic == it.criteria.topic)
    });
    let own = context.uri(request, of.map_or(PATH, |of| of.path));
    let subscription = found.iter().map(|(_, it)| link(it)).collect();
    Response::ok(LinkListAnswer { list: LinkList { links: Link { own }, subscription } })
}

fn rab_info(context: &Context, request: &Request) -> Result<Response, Problem> {
    let tenant = query_rights(&context.service, request, "rab_info")?;
    let (app_ins_id, selection, bearers) =
        (super::queries::application(request)?, Selection::read(request, tenant)?, Bearers::read(request)?);
    let cell_user_info = context.service.read(|state| query::cell_user_info(state, &selection, &bearers));
    if cell_user_info.is_empty() {
        return Err(query::no_match());
    }
    let request_id = request.id.as_str().to_owned();
    let rab_info = RabInfo { time_stamp: TimeStamp::now(), app_ins_id, request_id, cell_user_info };
    Ok(Response::ok(RabInfoAnswer { rab_info }))
}

fn plmn_info(context: &Context, request: &Request) -> Result<Response, Problem> {
    let tenant = query_rights(&context.service, request, "plmn_info")?;
    let app_ins_id = super::queries::application(request)?;
    let cells = context.service.read(|state| query::cells(state, tenant.as_deref()));
    let ecgi: Vec<Ecgi> = cells.into_iter().map(Into::into).collect();
    if ecgi.is_empty() {
        return Err(query::no_match());
    }
    Ok(Response::ok(PlmnInfoAnswer { plmn_info: PlmnInfo { time_stamp: TimeStamp::now(), app_ins_id, ecgi } }))
}

fn s1_bearer_info(context: &Context, request: &Request) -> Result<Response, Problem> {
    let tenant = query_rights(&context.service, request, "s1_bearer_info")?;
    let (selection, bearers) = (Selection::read(request, tenant)?, Bearers::read_list(request)?);
    let found = context.service.read(|state| query::s1_ue_info(state, &selection, &bearers));
    if found.is_empty() {
        return Err(query::no_match());
    }
    let s1_ue_info = found.into_iter().map(|ue| S1UeInfo {
        temp_ue_id: ue.temp_ue_id.into_iter().collect(),
        associate_id: ue.associate_id,
        ecgi: ue.ecgi,
        s1_bearer_info_detailed: ue
            .s1_bearer_info_detailed
            .into_iter()
            .map(|bearer| S1BearerInfoDetailed {
                erab_id: bearer.erab_id,
                s1_enb_info: bearer.enb_info,
                s_gw_info: bearer.s_gw_info,
            })
            .collect(),
    });
    let s1_bearer_info = S1BearerInfo { time_stamp: TimeStamp::now(), s1_ue_info: s1_ue_info.collect() };
    Ok(Response::ok(S1BearerInfoAnswer { s1_bearer_info }))
}
