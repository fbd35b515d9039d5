//! Routes: which handler answers which method and path.

use std::borrow::Cow;
use std::fmt;
use std::future::Future;
use std::pin::Pin;

use hyper::{Method, Uri};

use super::{Problem, Request, RequestQueue, Response};

type Answer = Pin<Box<dyn Future<Output = Result<Response, Problem>> + Send>>;

/// One method of one resource.
pub struct Route {
    method: Method,
    path: &'static str,
    handler: Box<dyn Fn(Request) -> Answer + Send>,
}

impl fmt::Debug for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, self.path)
    }
}

impl Route {
    /// A route that is answered on the server's thread. `handler` must not block.
    ///
    /// `path` is written as in OpenAPI: `/v1/nodes/{node}`.
    pub fn new(
        method: Method,
        path: &'static str,
        handler: impl Fn(&Request) -> Result<Response, Problem> + Send + 'static,
    ) -> Self {
        let handler = move |request: Request| -> Answer { Box::pin(std::future::ready(handler(&request))) };
        Route { method, path, handler: Box::new(handler) }
    }

    /// A route that is answered by another thread. `prepare` checks the request on the server's thread, and returns what the
    /// other thread receives.
    pub fn queued<J: Send + 'static>(
        method: Method,
        path: &'static str,
        queue: &RequestQueue<J>,
        prepare: impl Fn(&Request) -> Result<J, Problem> + Send + 'static,
    ) -> Self {
        let queue = queue.clone();
        let handler = move |request: Request| -> Answer {
            let (queue, job) = (queue.clone(), prepare(&request));
            Box::pin(async move { queue.request(job?).await })
        };
        Route { method, path, handler: Box::new(handler) }
    }

    /// The method.
    #[must_use]
    pub fn method(&self) -> &Method {
        &self.method
    }

    /// The path, with its parameters in braces.
    #[must_use]
    pub fn path(&self) -> &'static str {
        self.path
    }

    /// Answers a request of this route.
    pub(super) fn answer(&self, request: Request) -> Answer {
        (self.handler)(request)
    }

    /// Returns the parameters of a path; `None` if it is another resource's.
    fn parameters(&self, path: &[Cow<'_, str>]) -> Option<Vec<String>> {
        let mut parameters = Vec::new();
        let mut given = path.iter();
        for part in self.path.split('/').skip(1) {
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

    /// Finds the route of a request, and the parameters of its path.
    pub fn find(&self, method: &Method, uri: &Uri) -> Result<(&Route, Vec<String>), Problem> {
        let path = uri.path();
        let nothing_there =
            || Problem::not_found(format!("there is nothing at {path}; /v1/openapi.json lists all resources"));
        let parts: Option<Vec<_>> =
            path.strip_prefix('/').map(|path| path.split('/').map(decoded).collect()).unwrap_or_default();
        let parts = parts.ok_or_else(nothing_there)?;
        // HEAD is GET without content, which hyper omits
        let method = if method == Method::HEAD { &Method::GET } else { method };
        let mut allowed: Vec<&str> = Vec::new();
        for route in &self.routes {
            let Some(parameters) = route.parameters(&parts) else { continue };
            if route.method == *method {
                if let Some(query) = uri.query().filter(|query| !query.is_empty()) {
                    return Err(Problem::bad_request(format!("the resource has no query parameters: `{query}`")));
                }
                return Ok((route, parameters));
            }
            allowed.push(route.method.as_str());
            if route.method == Method::GET {
                allowed.push(Method::HEAD.as_str());
            }
        }
        if allowed.is_empty() { Err(nothing_there()) } else { Err(Problem::method_not_allowed(&allowed.join(", "))) }
    }
}

/// Removes the percent encoding of a path segment (RFC 3986 2.1); `None` if the result is not UTF-8.
fn decoded(part: &str) -> Option<Cow<'_, str>> {
    if !part.contains('%') {
        return Some(Cow::Borrowed(part));
    }
    let mut octets = Vec::with_capacity(part.len());
    let mut rest = part.bytes();
    while let Some(octet) = rest.next() {
        octets.push(match octet {
            b'%' => {
                let mut digit = || rest.next().and_then(|digit| char::from(digit).to_digit(16));
                // two hexadecimal digits are at most 255
                (digit()? * 16 + digit()?) as u8
            }
            octet => octet,
        });
    }
    String::from_utf8(octets).ok().map(Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn router() -> Router {
        let route = |method, path| Route::new(method, path, |_| Ok(Response::no_content()));
        Router::new(vec![
            route(Method::GET, "/v1/nodes"),
            route(Method::GET, "/v1/nodes/{node}/ues"),
            route(Method::PUT, "/v1/nodes/{node}/slices/{direction}"),
            route(Method::GET, "/v1/nodes/{node}/slices/{direction}"),
        ])
    }

    fn find(method: Method, uri: &str) -> Result<(&'static str, Vec<String>), u16> {
        let router = router();
        let found = router.find(&method, &uri.parse().unwrap());
        found.map(|(route, parameters)| (route.path, parameters)).map_err(|problem| problem.status().as_u16())
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
        assert_eq!(find(Method::GET, "/v1/nodes?all"), Err(400));
        let router = router();
        let problem = router.find(&Method::POST, &"/v1/nodes/x/slices/dl".parse().unwrap()).err().unwrap();
        assert_eq!(problem.document()["detail"], "the resource supports only PUT, GET, HEAD");
    }
}
