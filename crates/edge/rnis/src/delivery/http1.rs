//! An exchange of HTTP/1.1 (RFC 9112): a POST request, written with one call, and its answer, read in place and within bounds.
//!
//! It is written here because a busy service does little else: an exchange is one write and one read. The parser of heads is
//! `httparse`.

use std::io::Write;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::callback::Callback;
use super::scheduler::Job;
use super::state::DeliveryError;

/// The longest head of an answer, those of interim answers included.
const MAX_HEAD_OCTETS: usize = 8 * 1024;
/// The longest body of an answer that is read, so that its connection can be used again. Longer ones end the connection.
const MAX_BODY_OCTETS: usize = 16 * 1024;
const MAX_HEADERS: usize = 64;
/// The header field that marks a notification that the subscriber may have received before; its value is `true`.
pub const REDELIVERED: &str = "ferric-redelivered";

/// The buffers of a connection.
#[derive(Debug, Default)]
pub struct Buffers {
    request: Vec<u8>,
    answer: Vec<u8>,
    /// Octets of the current answer have arrived: the server has seen the request.
    pub has_answer: bool,
    /// Its status, which counts though the rest of it may never arrive.
    pub status: Option<u16>,
}

/// What remains of a connection after an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reuse {
    /// It may be used again.
    Open,
    /// It ends.
    Close,
}

/// Sends a notification and reads the answer.
pub async fn exchange<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut S,
    callback: &Callback,
    job: &Job,
    buffers: &mut Buffers,
) -> (Result<(), DeliveryError>, Reuse) {
    (buffers.has_answer, buffers.status) = (false, None);
    write_request(&mut buffers.request, callback, job);
    if let Err(error) = write(stream, &buffers.request).await {
        return (Err(error), Reuse::Close);
    }
    match read_answer(stream, buffers).await {
        Ok((status, reuse)) => (judge(status), reuse),
        Err(error) => (Err(error), Reuse::Close),
    }
}

/// What a status means.
pub fn judge(status: u16) -> Result<(), DeliveryError> {
    if (200..300).contains(&status) { Ok(()) } else { Err(DeliveryError::Status(status)) }
}

async fn write<S: AsyncWrite + Unpin>(stream: &mut S, request: &[u8]) -> Result<(), DeliveryError> {
    let written = async {
        stream.write_all(request).await?;
        stream.flush().await
    };
    written.await.map_err(|_| DeliveryError::Closed)
}

/// Writes a request. Copying the parts together costs less than a list of them for the kernel: they are a few hundred octets.
fn write_request(request: &mut Vec<u8>, callback: &Callback, job: &Job) {
    let (body, tail) = (&*job.waiting.notification.body, &*job.target.tail);
    request.clear();
    request.extend_from_slice(b"POST ");
    request.extend_from_slice(callback.path().as_bytes());
    // a vector has room
    let _ = write!(request, " HTTP/1.1\r\nhost: {}\r\n", callback.endpoint());
    if job.is_repeated {
        let _ = write!(request, "{REDELIVERED}: true\r\n");
    }
    let octets = body.len() + tail.len();
    let _ = write!(request, "content-type: application/json\r\ncontent-length: {octets}\r\n\r\n");
    request.extend_from_slice(body.as_bytes());
    request.extend_from_slice(tail.as_bytes());
}

/// What the head of an answer says.
struct Head {
    status: u16,
    /// Its octets.
    len: usize,
    body: Body,
    closes: bool,
}

enum Body {
    Octets(usize),
    Chunks,
    /// It ends with the connection.
    UntilClose,
}

async fn read_answer<S: AsyncRead + Unpin>(
    stream: &mut S,
    buffers: &mut Buffers,
) -> Result<(u16, Reuse), DeliveryError> {
    let Buffers { answer, has_answer, status, .. } = buffers;
    answer.clear();
    let mut interim_octets = 0;
    let head = loop {
        if let Some(head) = parse_head(answer)? {
            // 101 is no interim answer to a request without `Upgrade`
            if !(100..200).contains(&head.status) || head.status == 101 {
                break head;
            }
            interim_octets += head.len;
            answer.drain(..head.len);
            continue;
        }
        if interim_octets + answer.len() >= MAX_HEAD_OCTETS {
            return Err(DeliveryError::Malformed("its head exceeds 8 KiB"));
        }
        if read(stream, answer, MAX_HEAD_OCTETS - interim_octets).await? == 0 {
            return Err(DeliveryError::Closed);
        }
        *has_answer = true;
    };
    *status = Some(head.status);
    answer.drain(..head.len);
    let is_whole = match head.body {
        Body::Octets(len) => len <= MAX_BODY_OCTETS && skip_octets(stream, answer, len).await,
        Body::Chunks => skip_chunks(stream, answer).await,
        Body::UntilClose => false,
    };
    // octets beyond the answer belong to no request
    let reuse = if is_whole && !head.closes && answer.is_empty() { Reuse::Open } else { Reuse::Close };
    Ok((head.status, reuse))
}

/// Reads at most until the buffer has `max` octets. Returns how many arrived.
async fn read<S: AsyncRead + Unpin>(stream: &mut S, buffer: &mut Vec<u8>, max: usize) -> Result<usize, DeliveryError> {
    buffer.reserve(512.min(max.saturating_sub(buffer.len())).max(1));
    let room = (max - buffer.len()).min(buffer.capacity() - buffer.len()) as u64;
    stream.take(room).read_buf(buffer).await.map_err(|_| DeliveryError::Closed)
}

fn parse_head(octets: &[u8]) -> Result<Option<Head>, DeliveryError> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut response = httparse::Response::new(&mut headers);
    let len = match response.parse(octets) {
        Ok(httparse::Status::Complete(len)) => len,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => {
            return Err(DeliveryError::Malformed("it has more than 64 header fields"));
        }
        Err(_) => return Err(DeliveryError::Malformed("its head is malformed")),
    };
    let status = response.code.unwrap_or(0);
    let mut closes = response.version != Some(1);
    let mut length: Option<usize> = None;
    let mut is_encoded = false;
    let mut is_chunked = false;
    for header in response.headers.iter() {
        let value = header.value.trim_ascii();
        if header.name.eq_ignore_ascii_case("content-length") {
            let text = std::str::from_utf8(value).ok().filter(|text| text.bytes().all(|digit| digit.is_ascii_digit()));
            let number = text.and_then(|text| text.parse().ok());
            // RFC 9112 6.3: several that differ are an attack or a mistake
            if number.is_none() || length.is_some_and(|length| Some(length) != number) {
                return Err(DeliveryError::Malformed("its Content-Length is no number"));
            }
            length = number;
        } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
            is_encoded = true;
            is_chunked = value.eq_ignore_ascii_case(b"chunked");
        } else if header.name.eq_ignore_ascii_case("connection") {
            let mut words = value.split(|octet| *octet == b',').map(<[u8]>::trim_ascii);
            closes |= words.any(|word| word.eq_ignore_ascii_case(b"close"));
        }
    }
    let body = match (status, is_encoded, length) {
        (204 | 304, ..) => Body::Octets(0),
        (_, true, _) if is_chunked => Body::Chunks,
        (_, false, Some(length)) => Body::Octets(length),
        _ => Body::UntilClose,
    };
    Ok(Some(Head { status, len, body, closes }))
}

/// Reads the rest of a body, and removes it from the buffer. Returns whether all of it has arrived.
async fn skip_octets<S: AsyncRead + Unpin>(stream: &mut S, buffer: &mut Vec<u8>, len: usize) -> bool {
    while buffer.len() < len {
        // what arrives beyond it ends the connection
        if !matches!(read(stream, buffer, len.max(buffer.len() + 1)).await, Ok(1..)) {
            return false;
        }
    }
    buffer.drain(..len);
    true
}

/// Reads a chunked body within its bound, and removes it from the buffer. Returns whether all of it has arrived.
async fn skip_chunks<S: AsyncRead + Unpin>(stream: &mut S, buffer: &mut Vec<u8>) -> bool {
    let mut budget = MAX_BODY_OCTETS;
    loop {
        match httparse::parse_chunk_size(buffer) {
            Ok(httparse::Status::Complete((start, size))) => {
                let Some(len) = usize::try_from(size).ok().and_then(|size| start.checked_add(size)?.checked_add(2))
                else {
                    return false;
                };
                let Some(left) = budget.checked_sub(len) else { return false };
                budget = left;
                if !skip_octets(stream, buffer, len).await {
                    return false;
                }
                if size == 0 {
                    return true;
                }
            }
            Ok(httparse::Status::Partial) if buffer.len() < 64 => {
                if !matches!(read(stream, buffer, 64).await, Ok(1..)) {
                    return false;
                }
            }
            _ => return false,
        }
    }
}
