//! Times of day and time stamps, in UTC.

use std::time::{SystemTime, UNIX_EPOCH};

const SECONDS_OF_DAY: u64 = 24 * 60 * 60;

/// `2026-01-31T12:34:56.789Z` (RFC 3339).
pub fn rfc3339(at: SystemTime) -> String {
    let (days, _) = days_and_seconds(at);
    // H. Hinnant, "chrono-Compatible Low-Level Date Algorithms", civil_from_days: years begin in March
    let since_year_0 = days + 719_468;
    let (era, day_of_era) = (since_year_0 / 146_097, since_year_0 % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let ms = at.duration_since(UNIX_EPOCH).unwrap_or_default().subsec_millis();
    format!("{year:04}-{month:02}-{day:02}T{}.{ms:03}Z", time_of_day(at))
}

/// `12:34:56`
pub fn time_of_day(at: SystemTime) -> String {
    let (_, seconds) = days_and_seconds(at);
    format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// Days and seconds of the day since 1970; a clock before that counts as 1970.
fn days_and_seconds(at: SystemTime) -> (u64, u64) {
    let seconds = at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    (seconds / SECONDS_OF_DAY, seconds % SECONDS_OF_DAY)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn time_stamps_are_those_of_the_calendar() {
        for (seconds, shown) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400, "2000-02-29T00:00:00.000Z"),
            (1_735_689_599, "2024-12-31T23:59:59.000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(rfc3339(UNIX_EPOCH + Duration::from_secs(seconds)), shown);
        }
        assert_eq!(rfc3339(UNIX_EPOCH + Duration::from_millis(1_500)), "1970-01-01T00:00:01.500Z");
    }
}
