//! Bodies of the type `application/x-www-form-urlencoded`.

/// The parameters of a form.
#[derive(Debug)]
pub struct Form(Vec<(String, String)>);

/// The most parameters; a request for a token has five.
const MAX_PARAMETERS: usize = 32;

impl Form {
    /// Reads a body; `None` if it is malformed, or has a parameter twice (RFC 6749 3.2). Parameters without a value are left out.
    pub fn read(body: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(body).ok()?;
        let mut parameters: Vec<(String, String)> = Vec::new();
        for pair in text.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (name, value) = (decode(name)?, decode(value)?);
            if parameters.len() == MAX_PARAMETERS || parameters.iter().any(|(known, _)| *known == name) {
                return None;
            }
            parameters.push((name, value));
        }
        parameters.retain(|(_, value)| !value.is_empty());
        Some(Form(parameters))
    }

    /// A parameter.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| &**value)
    }
}

/// Decodes `+` and percent signs; `None` if it is malformed.
pub fn decode(text: &str) -> Option<String> {
    let mut octets = text.bytes();
    let mut decoded = Vec::with_capacity(text.len());
    while let Some(octet) = octets.next() {
        decoded.push(match octet {
            b'+' => b' ',
            b'%' => {
                let digit = |octet: Option<u8>| char::from(octet?).to_digit(16);
                let (high, low) = (digit(octets.next())?, digit(octets.next())?);
                (high * 16 + low) as u8 // at most 255
            }
            other => other,
        });
    }
    String::from_utf8(decoded).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn form_is_decoded_and_has_each_parameter_once() {
        let form = Form::read(b"a=1+2&b=%C3%a9%3D&&c&d=").unwrap();
        assert_eq!((form.get("a"), form.get("b"), form.get("c"), form.get("d")), (Some("1 2"), Some("é="), None, None));
        for bad in [&b"a=1&a=2"[..], b"a&a", b"a=%", b"a=%4", b"a=%zz", b"a=%ff", b"\xff", b"%61=1&a=2"] {
            assert!(Form::read(bad).is_none(), "{}", String::from_utf8_lossy(bad));
        }
        assert!(Form::read((0..33).map(|at| format!("p{at}=1&")).collect::<String>().as_bytes()).is_none());
    }
}
