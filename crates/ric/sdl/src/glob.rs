//! Patterns of keys and channels: `*`, `?`, `[a-c]`, `[^a]`, and `\` before a character that stands for itself.

/// Steps of a comparison that are left: a bound of the time that a search takes.
#[derive(Debug)]
pub struct Budget(pub u64);

/// The search took too many steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exhausted;

/// Whether a pattern covers a text.
///
/// # Errors
/// If the budget is used up.
pub fn matches(pattern: &[u8], text: &[u8], budget: &mut Budget) -> Result<bool, Exhausted> {
    let (mut at, mut of) = (0, 0);
    // where the last `*` stands, and the text that it covers ends
    let mut star: Option<(usize, usize)> = None;
    loop {
        budget.0 = budget.0.checked_sub(1).ok_or(Exhausted)?;
        let rest = pattern.get(at..).unwrap_or_default();
        if rest.first() == Some(&b'*') {
            star = Some((at, of));
            at += 1;
            continue;
        }
        let Some(octet) = text.get(of) else { return Ok(rest.is_empty()) };
        match one(rest, *octet, budget)? {
            Some(length) => (at, of) = (at + length, of + 1),
            None => {
                // the last `*` covers one octet more
                let Some((of_star, covered)) = star else { return Ok(false) };
                star = Some((of_star, covered + 1));
                (at, of) = (of_star + 1, covered + 1);
            }
        }
    }
}

/// Compares an octet with the first element of a pattern. Returns the length of the element if it covers the octet.
fn one(pattern: &[u8], octet: u8, budget: &mut Budget) -> Result<Option<usize>, Exhausted> {
    Ok(match pattern {
        [] => None,
        [b'?', ..] => Some(1),
        [b'[', class @ ..] => {
            let (is_covered, length) = of_class(class, octet);
            budget.0 = budget.0.checked_sub(length as u64).ok_or(Exhausted)?;
            is_covered.then_some(1 + length)
        }
        [b'\\', escaped, ..] => (*escaped == octet).then_some(2),
        [literal, ..] => (*literal == octet).then_some(1),
    })
}

/// Whether a class, which begins behind `[`, contains an octet; and its length with `]`. Without an end it is one to the end of
/// the pattern.
fn of_class(class: &[u8], octet: u8) -> (bool, usize) {
    let is_negated = class.first() == Some(&b'^');
    let mut at = usize::from(is_negated);
    let mut is_member = false;
    loop {
        match class.get(at..).unwrap_or_default() {
            [] => break,
            [b']', ..] => {
                at += 1;
                break;
            }
            [b'\\', escaped, ..] => {
                is_member |= *escaped == octet;
                at += 2;
            }
            [first, b'-', last, ..] if *last != b']' => {
                let (first, last) = (first.min(last), first.max(last));
                is_member |= (first..=last).contains(&&octet);
                at += 3;
            }
            [single, ..] => {
                is_member |= *single == octet;
                at += 1;
            }
        }
    }
    (is_member != is_negated, at)
}

/// Returns the literal octets that each text begins with that a pattern covers.
#[must_use]
pub fn literal_prefix(pattern: &[u8]) -> Vec<u8> {
    let mut prefix = Vec::new();
    let mut rest = pattern;
    loop {
        match rest {
            [] | [b'*' | b'?' | b'[', ..] => return prefix,
            [b'\\', escaped, after @ ..] => {
                prefix.push(*escaped);
                rest = after;
            }
            [literal, after @ ..] => {
                prefix.push(*literal);
                rest = after;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn covers(pattern: &str, text: &str) -> bool {
        matches(pattern.as_bytes(), text.as_bytes(), &mut Budget(10_000)).unwrap()
    }

    #[test]
    fn patterns_cover_what_redis_documents() {
        for (pattern, text, expected) in [
            ("", "", true),
            ("", "a", false),
            ("*", "", true),
            ("{ns},*", "{ns},key", true),
            ("{ns},*", "{other},key", false),
            ("h?llo", "hello", true),
            ("h?llo", "hllo", false),
            ("h*llo", "heeeello", true),
            ("h[ae]llo", "hallo", true),
            ("h[ae]llo", "hillo", false),
            ("h[^e]llo", "hallo", true),
            ("h[^e]llo", "hello", false),
            ("h[a-b]llo", "hbllo", true),
            ("h[b-a]llo", "hbllo", true),
            ("h[a-b]llo", "hcllo", false),
            ("h\\*llo", "h*llo", true),
            ("h\\*llo", "hello", false),
            ("*a*b*c", "xxaxxbxxc", true),
            ("*a*b*c", "xxaxxbxx", false),
            ("a**b", "ab", true),
            ("a[", "a", false),
            ("a[b", "ab", true),
            ("[a-]", "-", true),
            ("\\", "\\", true),
        ] {
            assert_eq!(covers(pattern, text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn costly_pattern_ends_with_its_budget() {
        let (pattern, text) = (format!("{}b", "*a".repeat(200)), "a".repeat(1000));
        assert_eq!(matches(pattern.as_bytes(), text.as_bytes(), &mut Budget(1000)), Err(Exhausted));
        assert_eq!(matches(b"[aaaaaaaaaaaaaaaa]", b"a", &mut Budget(4)), Err(Exhausted));
    }

    #[test]
    fn prefix_ends_at_the_first_element_that_covers_several() {
        assert_eq!(literal_prefix(b"{ns},a?"), b"{ns},a");
        assert_eq!(literal_prefix(b"a\\*b*"), b"a*b");
        assert_eq!(literal_prefix(b"[ab]"), b"");
        assert_eq!(literal_prefix(b"all"), b"all");
    }
}
