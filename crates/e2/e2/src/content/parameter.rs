//! Patterns of parameters, as rules and rights name them.

use core::fmt;
use core::str::FromStr;

/// The most parts of a pattern.
const MAX_PARTS: usize = 8;
/// The most octets of a part.
const MAX_PART_OCTETS: usize = 64;

/// A selection of parameters: `rc/2/6` has all of `rc/2/6/…` as well; `*` is any part.
///
/// ```
/// # use e2::content::ParameterPattern;
/// let handovers: ParameterPattern = "rc/3/1".parse().unwrap();
/// assert!(handovers.has("rc/3/1") && handovers.has("rc/3/1/5") && !handovers.has("rc/3"));
/// assert!("rrc/1".parse::<ParameterPattern>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ParameterPattern(Vec<String>);

impl ParameterPattern {
    /// Whether it selects a parameter.
    #[must_use]
    pub fn has(&self, parameter: &str) -> bool {
        let mut parts = parameter.split('/');
        self.0.iter().all(|wanted| parts.next().is_some_and(|part| wanted == "*" || wanted == part))
    }

    /// Whether it may select parameters of a service model.
    #[must_use]
    pub fn may_have(&self, model: &str) -> bool {
        self.0.first().is_some_and(|first| first == "*" || first == model)
    }
}

impl fmt::Display for ParameterPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("/"))
    }
}

/// A text that is no pattern of parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidParameter;

impl fmt::Display for InvalidParameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a parameter is a path such as rc/2/6, slice/dl, tc/shaper or ccc/O-RRMPolicyRatio; * is any part")
    }
}

impl std::error::Error for InvalidParameter {}

impl FromStr for ParameterPattern {
    type Err = InvalidParameter;

    fn from_str(text: &str) -> Result<Self, InvalidParameter> {
        let parts: Vec<_> = text.split('/').map(str::to_owned).collect();
        let is_known = ["rc", "slice", "tc", "ccc", "*"].contains(&parts[0].as_str());
        let is_bad = |part: &String| part.is_empty() || part.len() > MAX_PART_OCTETS;
        if !is_known || parts.len() > MAX_PARTS || parts.iter().any(is_bad) {
            return Err(InvalidParameter);
        }
        Ok(ParameterPattern(parts))
    }
}
