//! Routes: which handler answers which operation.

use std::borrow::Cow;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use hyper::{Method, Uri};

use super::bearer::OAuth2;
use super::operation::Operation;
use super::parameter::{Query, decoded};
use super::queue::SharedReads;
use super::{Problem, Request, RequestQueue, Response};

type Answer = Pin<Box<dyn Future<Output = Result<Response, Problem>> + Send>>;

/// An operation, and what answers it.
pub struct Route {
    operation: Operation,
    handler: Box<dyn Fn(Request) -> Answer + Send>,
    sharing: Sharing,
}

/// What a route means for answers that reads share.
#[derive(Debug)]
pub(super) enum Sharing {
    /// Nothing: each request has an answer of its own.
    Own,
    /// Reads share its answers.
    Shared(Arc<SharedReads>),
    /// Its answers end the shared ones: it changes what they show.
    Ends,
}

impl fmt::Debug for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.operation.method, self.operation.path)
    }
}

impl Route {
    /// A route that is answered on the server's thread. `handler` must not block.
    pub fn new(operation: Operation, handler: impl Fn(&Request) -> Result<Response, Problem> + Send + 'static) -> Self {
        let handler = move |request: Request| -> Answer { Box::pin(std::future::ready(handler(&request))) };
        Route { operation, handler: Box::new(handler), sharing: Sharing::Own }
    }

    /// A route that is answered by another thread. `prepare` checks the request on the server's thread, and returns what the
    /// other thread receives.
    pub fn queued<J: Send + 'static>(
        operation: Operation,
        queue: &RequestQueue<J>,
        prepare: impl Fn(&Request) -> Result<J, Problem> + Send + 'static,
    ) -> Self {
        let queue = queue.clone();
        let sharing = match queue.shared_reads() {
            _ if operation.method != Method::GET => Sharing::Ends,
            Some(shared) if operation.stream.is_none() => Sharing::Shared(Arc::clone(shared)),
            _ => Sharing::Own,
        };
        let handler = move |request: Request| -> Answer {
            let (queue, job) = (queue.clone(), prepare(&request));
            Box::pin(async move { queue.request(job?).await })
        };
        Route { operation, handler: Box::new(handler), sharing }
    }

    /// Lets it take tokens that a [`BearerVerifier`](crate::BearerVerifier) has verified, and describes how clients get them.
    #[must_use]
    pub fn takes_oauth2(mut self, oauth2: &OAuth2) -> Self {
        self.operation.oauth2 = Some(oauth2.clone());
        self
    }

    /// The method.
    #[must_use]
    pub fn method(&self) -> &Method {
        &self.operation.method
    }

    /// The path, with its parameters in braces.
    #[must_use]
    pub fn path(&self) -> &'static str {
        self.operation.path
    }

    /// What it declares.
    #[must_use]
    pub fn operation(&self) -> &Operation {
        &self.operation
    }

    /// What it means for answers that reads share.
    pub(super) fn sharing(&self) -> &Sharing {
        &self.sharing
    }

    /// Answers a request of this route.
    pub(super) fn answer(&self, request: Request) -> Answer {
        (self.handler)(request)
    }

    /// Reads the query of a request.
    pub(super) fn query(&self, uri: &Uri) -> Result<Query, Problem> {
        let Operation { query, ignores_other_parameters, .. } = &self.operation;
        Query::parse(uri.query().unwrap_or_default(), query, *ignores_other_parameters)
    }

    /// Returns the parameters of a path; `None` if it is another resource's.
    fn parameters(&self, path: &[Cow<'_, str>]) -> Option<Vec<String>> {
        let mut parameters = Vec::new();
        let mut given = path.iter();
        for part in self.operation.path.split('/').skip(1) {
            let given = given.next()?;
            if part.starts_with('{') {
                parameters.push(given.clone().into_owned());
            } else if part != given {
                return None;
            }
        }
        given.next().is_none().then_some(parameters)
    }
}

/// All routes.
pub(super) struct Router {
    routes: Vec<Route>,
}

impl Router {
    pub fn new(routes: Vec<Route>) -> Self {
        Router { routes }
    }

    /// Names the documents that list all resources.
    fn where_to_look(&self) -> String {
        let documents = self.routes.iter().map(Route::path).filter(|path| path.ends_with("/openapi.json"));
        match &*documents.collect::<Vec<_>>() {
            [] => String::new(),
            [document] => format!("; {document} lists all resources"),
            documents => format!("; {} list all resources", documents.join(" and ")),
        }
    }

    /// Finds the route of a request, and the parameters of its path.
    pub fn find(&self, method: &Method, uri: &Uri) -> Result<(&Route, Vec<String>), Problem> {
        let path = uri.path();
        let nothing_there = || Problem::not_found(format!("there is nothing at {path}{}", self.where_to_look()));
        let parts: Option<Vec<_>> = path
            .strip_prefix('/')
            .map(|path| path.split('/').map(|part| decoded(part, false)).collect())
            .unwrap_or_default();
        let parts = parts.ok_or_else(nothing_there)?;
        // HEAD is GET without content, which hyper omits
        let method = if method == Method::HEAD { &Method::GET } else { method };
        let mut allowed: Vec<&str> = Vec::new();
        for route in &self.routes {
            let Some(parameters) = route.parameters(&parts) else { continue };
            if route.method() == method {
                return Ok((route, parameters));
            }
            allowed.push(route.method().as_str());
            if route.method() == Method::GET {
                allowed.push(Method::HEAD.as_str());
            }
        }
        if allowed.is_empty() { Err(nothing_there()) } else { Err(Problem::method_not_allowed(&allowed.join(", "))) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn router() -> Router {
        let route = |operation| Route::new(operation, |_| Ok(Response::no_content()));
        Router::new(vec![
            route(Operation::get("/v1/nodes", "", "")),
            route(Operation::get("/v1/nodes/{node}/ues", "", "")),
            route(Operation::put("/v1/nodes/{node}/slices/{direction}", "", "")),
            route(Operation::get("/v1/nodes/{node}/slices/{direction}", "", "")),
        ])
    }

    fn find(method: Method, uri: &str) -> Result<(&'static str, Vec<String>), u16> {
        let router = router();
        let found = router.find(&method, &uri.parse().unwrap());
        found.map(|(route, parameters)| (route.path(), parameters)).map_err(|problem| problem.status().as_u16())
    }

    #[test]
    fn path_is_found_with_its_parameters() {
        assert_eq!(find(Method::GET, "/v1/nodes"), Ok(("/v1/nodes", vec![])));
        let (path, parameters) = find(Method::HEAD, "/v1/nodes/a%2Fb%20c/slices/dl").unwrap();
        assert_eq!((path, &*parameters[0], &*parameters[1]), ("/v1/nodes/{node}/slices/{direction}", "a/b c", "dl"));
    }

    #[test]
    fn unknown_paths_and_unknown_methods_differ() {
        for nothing in [
            "/",
            "/v1",
            "/v1/nodes/",
            "/v1/nodes/x/ues/",
            "/v2/nodes",
            "/v1/nodes/%zz/ues",
            "/v1/nodes/%ff/ues",
            "/v1/nodes/%/ues",
        ] {
            assert_eq!(find(Method::GET, nothing), Err(404), "{nothing}");
        }
        assert_eq!(find(Method::DELETE, "/v1/nodes"), Err(405));
        let router = router();
        let problem = router.find(&Method::POST, &"/v1/nodes/x/slices/dl".parse().unwrap()).err().unwrap();
        assert_eq!(problem.document()["detail"], "the resource supports only PUT, GET, HEAD");
    }
}
