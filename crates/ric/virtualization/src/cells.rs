//! The identities of cells in the network of a tenant.
//!
//! A cell of a base station has the base station's PLMN, that of its global E2 node id. In the network of a tenant it has that of the
//! tenant, as the virtual node has. Identities with other PLMNs, such as those of neighbours in other networks, are the same for all.
//! A tenant may also name a cell as the base station does: that PLMN is then the same in both.

use e2sm::common::{Cgi, PlmnIdentity};
use per::List;

use crate::node::NodeState;

/// How the PLMN of a cell is changed on the way between a tenant and a base station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CellPlmn {
    from: PlmnIdentity,
    to: PlmnIdentity,
}

impl CellPlmn {
    /// Of what a base station sends to a tenant.
    pub fn to_tenant(node: &NodeState, tenant: usize) -> Self {
        CellPlmn { from: node.plmn, to: node.sla.tenants[tenant].plmn }
    }

    /// Of what a tenant sends to a base station.
    pub fn to_station(node: &NodeState, tenant: usize) -> Self {
        CellPlmn { from: node.sla.tenants[tenant].plmn, to: node.plmn }
    }

    /// Whether identities stay as they are: the tenant has the PLMN of the base station.
    pub fn is_same(self) -> bool {
        self.from == self.to
    }

    /// Changes a PLMN. This and the following return whether something has changed.
    pub fn plmn(self, plmn: &mut PlmnIdentity) -> bool {
        let is_changed = *plmn == self.from && !self.is_same();
        if is_changed {
            *plmn = self.to;
        }
        is_changed
    }

    /// Changes the identity of a cell.
    pub fn cell(self, cell: &mut Cgi) -> bool {
        match cell {
            Cgi::NrCgi(cell) => self.plmn(&mut cell.plmn_identity),
            Cgi::EutraCgi(cell) => self.plmn(&mut cell.plmn_identity),
        }
    }

    /// Changes the identity of a cell, if one is named.
    pub fn optional(self, cell: &mut Option<Cgi>) -> bool {
        cell.as_mut().is_some_and(|cell| self.cell(cell))
    }

    /// Changes the encoding of a cell identity in PER: NR CGI, E-UTRA CGI or the choice of both (CGI of E2SM). The PLMN is at the begin,
    /// or after an octet with the preamble, which some senders omit. `None` if nothing changes.
    pub fn octets(self, octets: &[u8]) -> Option<Vec<u8>> {
        /// The index of E-UTRA CGI in the choice.
        const EUTRA: u8 = 0x40;
        let places: &[usize] = match (octets.len(), octets.first()) {
            (7, _) => &[0],
            // E-UTRA CGI with a preamble, or NR CGI without one
            (8, Some(&(0 | EUTRA))) => &[1, 0],
            (8, _) => &[0],
            (9, _) => &[1],
            _ => return None,
        };
        for at in places {
            let mut plmn = PlmnIdentity(octets[*at..*at + 3].try_into().ok()?);
            if self.plmn(&mut plmn) {
                return Some([&octets[..*at], &plmn.0, &octets[*at + 3..]].concat());
            }
        }
        None
    }
}

/// Changes the items of a list. A list in which nothing changes is not copied.
pub(crate) fn each<T: Clone>(list: &mut List<'_, T>, mut change: impl FnMut(&mut T) -> bool) -> bool {
    let mut changed: Option<Vec<T>> = None;
    for (at, item) in list.iter().enumerate() {
        let mut item = item.clone();
        if change(&mut item) {
            changed.get_or_insert_with(|| list.to_vec())[at] = item;
        }
    }
    let is_changed = changed.is_some();
    if let Some(changed) = changed {
        *list = changed.into();
    }
    is_changed
}

#[cfg(test)]
mod tests {
    use e2sm::common::{EutraCgi, NrCgi};
    use per::Bits;

    use super::*;
    use crate::testing::{A, B, station};

    const OTHER: PlmnIdentity = PlmnIdentity::from_codes(9, 9, 3);

    fn eutra(plmn_identity: PlmnIdentity) -> EutraCgi {
        EutraCgi { plmn_identity, eutra_cell_identity: Bits::new(7, 28) }
    }

    #[test]
    fn cells_have_the_plmn_of_the_base_station_here_and_of_the_tenant_there() {
        let node = station();
        let (to_tenant, to_station) = (CellPlmn::to_tenant(&node, 1), CellPlmn::to_station(&node, 1));
        for cell in [|plmn| Cgi::NrCgi(NrCgi::new(plmn, 7)), |plmn| Cgi::EutraCgi(eutra(plmn))] {
            let changed = |plmn: CellPlmn, mut of: Cgi| (plmn.cell(&mut of), of);
            assert_eq!(changed(to_tenant, cell(A)), (true, cell(B)));
            assert_eq!(changed(to_station, cell(B)), (true, cell(A)));
            // of another network; named as the base station does
            assert_eq!(changed(to_tenant, cell(OTHER)), (false, cell(OTHER)));
            assert_eq!(changed(to_station, cell(OTHER)), (false, cell(OTHER)));
            assert_eq!(changed(to_station, cell(A)), (false, cell(A)));
            // a tenant of the PLMN of the base station
            assert!(CellPlmn::to_tenant(&node, 0).is_same());
            assert_eq!(changed(CellPlmn::to_tenant(&node, 0), cell(A)), (false, cell(A)));
        }
    }

    #[test]
    fn encoded_cells_are_changed_with_and_without_preamble() {
        let plmn = CellPlmn::to_tenant(&station(), 1);
        fn octets(value: &impl per::Encode) -> Vec<u8> {
            let mut out = Vec::new();
            per::encode(value, 0, &mut out).unwrap();
            out
        }
        let forms = |of| {
            let (nr, eutra) = (octets(&NrCgi::new(of, 7)), octets(&eutra(of)));
            let choices = [octets(&Cgi::NrCgi(NrCgi::new(of, 7))), octets(&Cgi::EutraCgi(self::eutra(of)))];
            [&[nr[1..].to_vec(), eutra[1..].to_vec(), nr, eutra][..], &choices].concat()
        };
        for ((of_a, of_b), of_other) in forms(A).into_iter().zip(forms(B)).zip(forms(OTHER)) {
            assert_eq!(plmn.octets(&of_a), Some(of_b), "{of_a:?}");
            assert_eq!(plmn.octets(&of_other), None);
        }
        for length in 0..=12 {
            assert_eq!(plmn.octets(&vec![0xff; length]), None);
        }
        assert_eq!(plmn.octets(&[0, 0, 0xf1, 0x10]), None, "a PLMN alone is no cell");
    }
}
