//! Callbacks over HTTP/2: one connection to a server, on which requests are answered independently.

use std::future::Future;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper::header::CONTENT_TYPE;
use hyper::{Request, Version};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};

use super::callback::Callback;
use super::http1::{REDELIVERED, judge};
use super::scheduler::Job;
use super::state::DeliveryError;

/// The longest body of an answer that is read; a longer one ends its stream.
const MAX_BODY_OCTETS: usize = 16 * 1024;

/// What sends requests on a connection, which ends with the last clone.
pub type Sender = SendRequest<Full<Bytes>>;

/// Runs the tasks of connections on the delivery's thread.
#[derive(Clone, Copy, Debug)]
struct LocalExecutor;

impl<F: Future<Output: 'static> + 'static> hyper::rt::Executor<F> for LocalExecutor {
    fn execute(&self, task: F) {
        tokio::task::spawn_local(task);
    }
}

/// Begins HTTP/2 on a stream.
pub async fn open<S: AsyncRead + AsyncWrite + Unpin + 'static>(stream: S) -> Result<Sender, DeliveryError> {
    let opening = Builder::new(LocalExecutor).max_header_list_size(8 * 1024).handshake(TokioIo::new(stream));
    let (sender, connection) = opening.await.map_err(|error| DeliveryError::Connect(error.to_string()))?;
    // its errors are those of its requests
    tokio::task::spawn_local(async move {
        let _ = connection.await;
    });
    Ok(sender)
}

/// Sends a notification and reads the answer. `status` gets its status, which counts though the rest of it may never arrive.
pub async fn exchange(
    mut sender: Sender,
    callback: &Callback,
    job: &Job,
    status: &mut Option<u16>,
) -> Result<(), DeliveryError> {
    let body = [&*job.waiting.notification.body, &*job.target.tail].concat();
    let mut request = Request::post(callback.to_string())
        .version(Version::HTTP_2)
        .header(CONTENT_TYPE, "application/json")
        .body(Full::new(Bytes::from(body)))
        .map_err(|_| DeliveryError::Malformed("the URL cannot be sent"))?;
    if job.is_repeated {
        request.headers_mut().insert(REDELIVERED, hyper::header::HeaderValue::from_static("true"));
    }
    let response = match sender.ready().await {
        Ok(()) => sender.send_request(request).await,
        Err(error) => Err(error),
    };
    let response = response.map_err(|error| {
        if error.is_parse() { DeliveryError::Malformed("it is no HTTP/2") } else { DeliveryError::Closed }
    })?;
    let code = response.status().as_u16();
    *status = Some(code);
    // dropping a longer body resets its stream
    let _ = Limited::new(response.into_body(), MAX_BODY_OCTETS).collect().await;
    judge(code)
}
