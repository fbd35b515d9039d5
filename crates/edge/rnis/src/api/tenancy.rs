//! Who sends a request, and what its tenant allows: [`Rights`](crate::Rights) when subscribing and in queries.

use std::sync::Arc;

use rest::{Problem, Request, StatusCode};

use super::OWNER;
use crate::criteria::{Criteria, Topic};
use crate::service::Service;
use crate::subscriptions::Version;
use crate::tenants::{Denied, Rights, Tenant};

/// Whose subscriptions a request is about: those of the tenant of its token, else those of the only application.
pub fn owner(request: &Request) -> &str {
    request.subject().map_or(OWNER, |subject| subject)
}

/// The tenant of a request; `None` if its rights are not restricted.
fn tenant(service: &Service, request: &Request) -> Result<Option<Arc<Tenant>>, Problem> {
    service.tenant(owner(request)).map_err(|_| removed())
}

/// 403: the tenant was removed after the token was verified.
pub fn removed() -> Problem {
    Problem::new(StatusCode::FORBIDDEN, "the tenant of this token was removed")
}

/// What a query may show: everything, or what the rights of the tenant permit.
///
/// # Errors
/// 403 if the tenant may not send it.
pub fn query_rights(service: &Service, request: &Request, name: &str) -> Result<Option<Arc<Tenant>>, Problem> {
    let tenant = tenant(service, request)?;
    if tenant.as_ref().is_some_and(|tenant| !tenant.rights.permit_query(name)) {
        return Err(Problem::new(StatusCode::FORBIDDEN, format!("this tenant may not send the query {name}")));
    }
    Ok(tenant)
}

/// Checks that events can meet the criteria of a subscription within the rights of its tenant. `within` is the member that has the
/// body, if there is one.
///
/// # Errors
/// 403 that names the member.
pub fn check_criteria(
    service: &Service,
    request: &Request,
    criteria: &Criteria,
    version: Version,
    within: Option<&str>,
) -> Result<(), Problem> {
    let Some(tenant) = tenant(service, request)? else { return Ok(()) };
    let Err(denied) = Rights::check(&tenant.rights, criteria) else { return Ok(()) };
    let at = member(denied, criteria.topic, version);
    let at = within.filter(|_| denied != Denied::Topic).map_or(at.clone(), |within| format!("{within}.{at}"));
    let reason = match denied {
        Denied::Topic => "this tenant has no right to this type",
        Denied::Plmn => "this tenant has no right to this PLMN",
        Denied::Cells => "this tenant has no right to any of these cells",
        Denied::Ues => "this tenant has no right to any of these UEs",
    };
    Err(Problem::new(StatusCode::FORBIDDEN, format!("{at}: {reason}")).with("at", at))
}

/// The path of a criterion in a body. The type of a subscription of v1 is in the path of the resource.
fn member(denied: Denied, topic: Topic, version: Version) -> String {
    let criteria = match (version, topic) {
        (Version::V1, Topic::S1Bearer) => "s1BearerSubscriptionCriteria",
        (Version::V1, _) => "filterCriteria",
        (Version::V2, Topic::CellChange) => "filterCriteriaAssocHo",
        (Version::V2, Topic::RabEstablishment | Topic::RabModification | Topic::RabRelease) => "filterCriteriaQci",
        (Version::V2, Topic::MeasurementReport) => "filterCriteriaAssocTri",
        (Version::V2, Topic::NrMeasurementReport) => "filterCriteriaNrMrs",
        (Version::V2, Topic::TimingAdvance | Topic::CarrierAggregation) => "filterCriteriaAssoc",
        (Version::V2, Topic::S1Bearer) => "S1BearerSubscriptionCriteria",
    };
    let cells = match (version, topic) {
        (Version::V1, _) => "cellId",
        (Version::V2, Topic::NrMeasurementReport) => "nrcgi",
        (Version::V2, _) => "ecgi",
    };
    match denied {
        Denied::Topic => "subscriptionType".to_owned(),
        Denied::Plmn => format!("{criteria}.plmn"),
        Denied::Cells => format!("{criteria}.{cells}"),
        Denied::Ues => format!("{criteria}.associateId"),
    }
}

/// Whose queue a subscription has at a broker with one for each subscriber: that of its application instance. Tenants share none,
/// whatever their applications are called.
pub fn subscriber(owner: &str, application: Option<&str>) -> Arc<str> {
    match (owner, application) {
        (OWNER, application) => application.unwrap_or(OWNER).into(),
        // a tenant's name has no dot
        (tenant, application) => format!("{tenant}.{}", application.unwrap_or_default()).into(),
    }
}
