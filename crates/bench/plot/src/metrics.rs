//! The widths of letters in Helvetica, a standard font of every PDF viewer.

/// The widths of the letters from the space to the tilde, in thousandths of the font size.
#[rustfmt::skip]
const WIDTHS: [u16; 95] = [
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556, 556, 556, 556, 556,
    556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778,
    667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278, 556,
    556, 222, 222, 500, 222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
];
/// The width of other letters.
const OTHER: u16 = 600;

/// The width of a text.
pub(super) fn text_width(words: &str, size: f64) -> f64 {
    let of = |letter: char| {
        let place = (letter as usize).checked_sub(usize::from(b' '));
        place.and_then(|place| WIDTHS.get(place)).copied().unwrap_or(OTHER)
    };
    words.chars().map(|letter| f64::from(of(letter))).sum::<f64>() * size / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn width_is_the_sum_of_the_letters() {
        // C 722, D 722, F 611
        assert!((text_width("CDF", 10.0) - 20.55).abs() < 1e-9);
        assert!((text_width("~é", 1000.0) - 1184.0).abs() < 1e-9);
        assert_eq!(text_width("", 12.0), 0.0);
    }
}
