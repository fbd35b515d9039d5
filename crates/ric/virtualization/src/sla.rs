//! Service level agreements: the tenants of a RAN, and what each may use of it.

use std::path::Path;

use ferric::Endpoint;
use ids::{PlmnIdentity, SNssai};
use settings::{Document, Error, Table, TableKeys};

/// The maximum number of tenants.
pub const MAX_TENANTS: usize = 64;
/// The maximum number of S-NSSAIs of a tenant.
const MAX_S_NSSAIS: usize = 16;
/// The longest name of a tenant, in octets.
const MAX_NAME: usize = 64;
/// The largest file, in octets.
const MAX_FILE: u64 = 256 * 1024;

const FILE: TableKeys = TableKeys { name: "the file", keys: &["tenant"] };
const TENANT: TableKeys = TableKeys { name: "[[tenant]]", keys: &["name", "share_percent", "plmn", "s_nssais", "ric"] };

/// An operator that shares the RAN, and its agreement.
#[derive(Clone, Debug, PartialEq)]
pub struct Tenant {
    /// Its name, unique among the tenants.
    pub name: String,
    /// The share of each cell's resources that is guaranteed to it, above 0, at most 1 (q in the FlexRIC paper, appendix B).
    pub share: f64,
    /// Its PLMN: that of its subscribers, and of the base stations that its controller sees.
    pub plmn: PlmnIdentity,
    /// If not empty, it has only the subscribers of its PLMN with one of these network slices.
    pub s_nssais: Vec<SNssai>,
    /// The address of its controller.
    pub ric: Endpoint,
}

/// The agreements of all tenants.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sla {
    /// The tenants, in the order of the file, which is that of their ranges of slice ids when a controller starts.
    pub tenants: Vec<Tenant>,
}

impl Sla {
    /// Reads a file.
    ///
    /// # Errors
    /// A text with the path, and the line and key at fault.
    pub fn load(path: &Path) -> Result<Sla, String> {
        let text = settings::read(path, MAX_FILE).map_err(|error| format!("{}: {error}", path.display()))?;
        Sla::parse(&text).map_err(|error| format!("{}: {error}", path.display()))
    }

    /// Parses the text of a file.
    ///
    /// # Errors
    /// The line and the key at fault: an unknown key, a value out of range, shares above 100 % in total, or tenants that are not
    /// distinguishable.
    pub fn parse(text: &str) -> Result<Sla, Error> {
        let document = Document::parse(text)?;
        let file = document.root(&FILE)?;
        let mut tenants: Vec<Tenant> = Vec::new();
        for table in file.tables("tenant", &TENANT, MAX_TENANTS)? {
            let tenant = read_tenant(&table)?;
            if tenants.iter().any(|other| other.name == tenant.name) {
                return Err(table.invalid("name", format!("there are two tenants `{}`", tenant.name)));
            }
            if let Some(other) = tenants.iter().find(|other| other.overlaps(&tenant)) {
                let both = format!("tenants `{}` and `{}` would have the same subscribers", other.name, tenant.name);
                return Err(table.invalid("plmn", &both));
            }
            if let Some(other) = tenants.iter().find(|other| other.plmn == tenant.plmn && other.ric == tenant.ric) {
                // such tenants divide the PLMN by network slices
                let text = format!(
                    "tenants `{}` and `{}` of PLMN {} have one controller, to which both virtual nodes of a base station would be one \
                     node; give each tenant of a PLMN a controller of its own",
                    other.name, tenant.name, tenant.plmn
                );
                return Err(table.invalid("ric", &text));
            }
            let total = tenants.iter().map(|tenant| tenant.share).sum::<f64>() + tenant.share;
            if total > 1.0 + 1e-9 {
                // all decimals of the file, and none of the rounding
                let total_percent = (1e8 * total).round() / 1e6;
                let text = format!("the shares are {total_percent} % in total; at most 100 % can be shared");
                return Err(table.invalid("share_percent", &text));
            }
            tenants.push(tenant);
        }
        if tenants.is_empty() {
            return Err(file.missing("tenant", "a virtual network needs at least one [[tenant]]"));
        }
        Ok(Sla { tenants })
    }

    /// The tenant of a UE with this PLMN and these network slices.
    pub(crate) fn tenant_of(&self, plmn: PlmnIdentity, s_nssais: &[SNssai]) -> Option<usize> {
        // of two tenants of a PLMN, the one with network slices has priority
        let tenants = self.tenants.iter().enumerate().filter(|(_, tenant)| tenant.has_subscriber(plmn, s_nssais));
        tenants.min_by_key(|(_, tenant)| tenant.s_nssais.is_empty()).map(|(at, _)| at)
    }

    /// Returns the agreements `next` in the order in which a running controller has them: each tenant at the place that it has here, by
    /// its name, and new ones at free places. Places without a tenant are left vacant.
    pub(crate) fn succeeded_by(&self, next: Sla) -> Sla {
        let mut places: Vec<Option<Tenant>> = vec![None; self.tenants.len()];
        let (known, new): (Vec<Tenant>, Vec<Tenant>) =
            next.tenants.into_iter().partition(|tenant| self.place(tenant).is_some());
        for tenant in known {
            let place = self.place(&tenant).expect("it is known");
            places[place] = Some(tenant);
        }
        for tenant in new {
            match places.iter().position(Option::is_none) {
                Some(place) => places[place] = Some(tenant),
                None => places.push(Some(tenant)),
            }
        }
        let tenants = places
            .into_iter()
            .enumerate()
            .map(|(place, tenant)| tenant.unwrap_or_else(|| self.tenants[place].vacated()));
        Sla { tenants: tenants.collect() }
    }

    fn place(&self, tenant: &Tenant) -> Option<usize> {
        self.tenants.iter().position(|known| known.name == tenant.name)
    }

    /// Whether there is a tenant at a place.
    pub(crate) fn has_tenant(&self, place: usize) -> bool {
        self.tenants.get(place).is_some_and(|tenant| !tenant.is_vacant())
    }
}

/// A PLMN that no text names.
const NO_PLMN: PlmnIdentity = PlmnIdentity([0xff; 3]);

impl Tenant {
    /// What stands at the place of a tenant that is gone.
    fn vacated(&self) -> Tenant {
        Tenant { name: String::new(), share: 0.0, plmn: NO_PLMN, s_nssais: Vec::new(), ric: self.ric.clone() }
    }

    /// Whether this is the place of a tenant that is gone: it has no subscribers and no share.
    pub(crate) fn is_vacant(&self) -> bool {
        self.name.is_empty()
    }

    /// Whether a UE may belong to both.
    fn overlaps(&self, other: &Tenant) -> bool {
        let share_slice = || self.s_nssais.iter().any(|slice| other.s_nssais.contains(slice));
        // of one that takes slices and one that takes the rest of a PLMN, the former has priority
        self.plmn == other.plmn
            && (self.s_nssais.is_empty() == other.s_nssais.is_empty())
            && (self.s_nssais.is_empty() || share_slice())
    }

    /// Whether a UE with this PLMN and these network slices is a subscriber.
    fn has_subscriber(&self, plmn: PlmnIdentity, s_nssais: &[SNssai]) -> bool {
        !self.is_vacant()
            && self.plmn == plmn
            && (self.s_nssais.is_empty() || s_nssais.iter().any(|slice| self.s_nssais.contains(slice)))
    }
}

fn read_tenant(table: &Table<'_>) -> Result<Tenant, Error> {
    let name = table.text("name", "the tenant's name")?;
    let name = name.ok_or_else(|| table.missing("name", "each tenant has a name"))?;
    if name.is_empty() || name.len() > MAX_NAME || name.chars().any(char::is_control) {
        return Err(table.invalid("name", "a name has 1 to 64 printable characters"));
    }
    let share = table.number("share_percent", 0.1..=100.0)?;
    let share = share.ok_or_else(|| table.missing("share_percent", "each tenant has a share of the resources"))?;
    let plmn = table.parsed::<PlmnIdentity>("plmn", "five or six digits")?;
    let plmn = plmn.ok_or_else(|| table.missing("plmn", "each tenant has a PLMN"))?;
    let ric = table.parsed::<Endpoint>("ric", "an address such as tcp://127.0.0.1:36431")?;
    let ric = ric.ok_or_else(|| table.missing("ric", "each tenant has a controller"))?;
    let s_nssais = table.parsed_texts("s_nssais", MAX_S_NSSAIS, "S-NSSAIs such as 1 or 1-00000a")?.unwrap_or_default();
    Ok(Tenant { name: name.to_owned(), share: share / 100.0, plmn, s_nssais, ric })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tenants_keep_their_places_by_name() {
        let sla = |names: &[&str]| {
            let table = |(at, name): (usize, &&str)| {
                format!(
                    "[[tenant]]\nname = \"{name}\"\nshare_percent = 10\nplmn = \"0010{at}\"\nric = \"tcp://127.0.0.1:1\"\n"
                )
            };
            Sla::parse(&names.iter().enumerate().map(table).collect::<String>()).unwrap()
        };
        let names = |sla: &Sla| sla.tenants.iter().map(|tenant| tenant.name.clone()).collect::<Vec<_>>();
        let started = sla(&["a", "b", "c"]);
        let without_a = started.succeeded_by(sla(&["c", "b"]));
        assert_eq!(names(&without_a), ["", "b", "c"]);
        assert!(!without_a.has_tenant(0) && without_a.has_tenant(2) && !without_a.has_tenant(3));
        assert_eq!(without_a.tenants.iter().map(|tenant| tenant.share).sum::<f64>(), 0.2);
        assert!(!without_a.tenants[0].has_subscriber(NO_PLMN, &[]));
        // new ones have free places first
        let with_more = without_a.succeeded_by(sla(&["e", "d", "c", "b"]));
        assert_eq!(names(&with_more), ["e", "b", "c", "d"]);
        assert_eq!(names(&with_more.succeeded_by(sla(&["a"]))), ["a", "", "", ""]);
    }

    #[test]
    fn agreement_that_cannot_be_kept_is_refused_with_line_and_key() {
        let tenant = |name: &str, percent: &str, more: &str| {
            format!("[[tenant]]\nname = \"{name}\"\nshare_percent = {percent}\nric = \"tcp://127.0.0.1:1\"\n{more}\n")
        };
        let of = |plmn: &str| format!("plmn = \"{plmn}\"");
        let cases = [
            (String::new(), "missing key `tenant`"),
            (tenant("a", "60", &of("00101")) + &tenant("b", "50", &of("00102")), "are 110 % in total"),
            (tenant("a", "50.05", &of("00101")) + &tenant("b", "50", &of("00102")), "are 100.05 % in total"),
            (
                tenant("a", "10", "plmn = \"00101\"\ns_nssais = [\"1\"]") + &tenant("b", "10", &of("00101")),
                "line 10: tenant[1]: ric: tenants `a` and `b` of PLMN 00101 have one controller",
            ),
            (tenant("a", "10", &of("00101")) + &tenant("a", "10", &of("00102")), "there are two tenants `a`"),
            (tenant("a", "10", &of("00101")) + &tenant("b", "10", &of("00101")), "would have the same subscribers"),
            (tenant("a", "0", &of("00101")), "share_percent: 0 is out of range"),
            (tenant("a", "10", &of("1")), "plmn: a PLMN identity has five or six digits"),
            (tenant("a", "10", "plmn = \"00101\"\ns_nssais = [\"1-1\"]"), "s_nssais[0]: an S-NSSAI is SST, or SST-SD"),
            (
                tenant("a", "10", "plmn = \"00101\"\nshares_percent = 1"),
                "unknown key `shares_percent`; did you mean `share_percent`?",
            ),
            (tenant("", "10", &of("00101")), "name: a name has 1 to 64"),
        ];
        for (text, reason) in cases {
            let error = Sla::parse(&text).unwrap_err().to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}
