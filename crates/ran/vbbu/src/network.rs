//! The unit's links: backhaul to the core, and midhaul to the radio unit or the distributed unit.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};

use netns::{End, Namespace, Veth, create_namespaces};

use crate::{Error, MAX_UNIT, Place, Split, gtp};

/// Units have subnets of four addresses each: backhaul 10.46.0.0/16, midhaul 10.47.0.0/16.
const PREFIX_BITS: u8 = 30;
/// The port of S1AP (TS 36.412 7), with UDP in place of SCTP.
const S1AP_PORT: u16 = 36412;
const SAMPLES_PORT: u16 = 50010;

/// The two ends of a connection.
pub(crate) struct Pair {
    pub unit: UdpSocket,
    pub peer: UdpSocket,
    pub unit_address: SocketAddr,
    pub peer_address: SocketAddr,
}

/// The links of a unit. Devices and namespaces are removed when this is dropped.
pub(crate) struct Links {
    pub gtp: Pair,
    pub s1: Pair,
    /// The distributed unit's end of F1-U in split 2; its peer is the unit's GTP socket.
    pub f1: Option<(UdpSocket, SocketAddr)>,
    /// The samples of split 7.1.
    pub samples: Option<Pair>,
    /// Devices before namespaces: their order of removal.
    _devices: Vec<Veth>,
    _namespaces: Vec<Namespace>,
}

/// Where each end is: its namespace, `None` for this process's, and its address.
#[derive(Clone, Copy)]
struct Site<'a> {
    namespace: Option<&'a Namespace>,
    address: Ipv4Addr,
}

impl Site<'_> {
    fn bind(&self, port: u16) -> Result<UdpSocket, Error> {
        self.bind_to(self.address, port)
    }

    fn bind_to(&self, address: Ipv4Addr, port: u16) -> Result<UdpSocket, Error> {
        let bind = || UdpSocket::bind((address, port));
        let bound = match self.namespace {
            None => bind(),
            Some(namespace) => namespace.enter(bind)?,
        };
        bound.map_err(Error::socket("open a UDP socket of the unit's links"))
    }
}

fn local(socket: &UdpSocket) -> Result<SocketAddr, Error> {
    socket.local_addr().map_err(Error::socket("read a socket's address"))
}

fn pair(unit: Site<'_>, peer: Site<'_>, ports: [u16; 2]) -> Result<Pair, Error> {
    let (unit, peer) = (unit.bind(ports[0])?, peer.bind(ports[1])?);
    let (unit_address, peer_address) = (local(&unit)?, local(&peer)?);
    Ok(Pair { unit, peer, unit_address, peer_address })
}

impl Links {
    pub fn open(place: Place, unit: u8, split: Split) -> Result<Links, Error> {
        if unit > MAX_UNIT {
            return Err(Error::Range { field: "unit", allowed: "0 to 63" });
        }
        if place == Place::Loopback {
            let here = Site { namespace: None, address: Ipv4Addr::LOCALHOST };
            return Links::between(split, [here; 4], [0; 4], Vec::new(), &[]).map(|links| links.of(Vec::new()));
        }
        let has_midhaul = split != Split::Monolithic;
        let mut names = vec![format!("vbbu{unit}-core")];
        names.extend(has_midhaul.then(|| format!("vbbu{unit}-du")));
        names.extend((place == Place::Namespace).then(|| format!("vbbu{unit}-unit")));
        let namespaces = create_namespaces(&names)?;
        let own = if place == Place::Namespace { namespaces.last() } else { None };
        let subnet = |second, host| Ipv4Addr::new(10, second, 0, unit * 4 + host);
        let mut devices = Vec::new();
        let mut connect = |name: &str, peer: &Namespace, second| -> Result<[Site<'_>; 2], Error> {
            let device = format!("vbbu{unit}{name}");
            let ends = [subnet(second, 1), subnet(second, 2)];
            let [first, last] =
                [(&*device, ends[0]), ("unit", ends[1])].map(|(device, address)| End { device, address });
            devices.push(Veth::connect(own, peer, [first, last], PREFIX_BITS)?);
            Ok([Site { namespace: own, address: ends[0] }, Site { namespace: None, address: ends[1] }])
        };
        let [near, far] = connect("", &namespaces[0], 46)?;
        let core = Site { namespace: Some(&namespaces[0]), ..far };
        let (near_mid, du) = match has_midhaul {
            true => {
                let [near, far] = connect("-mid", &namespaces[1], 47)?;
                (near, Site { namespace: Some(&namespaces[1]), ..far })
            }
            false => (near, core),
        };
        let gtp = gtp::PORT + u16::from(unit);
        let links = Links::between(
            split,
            [near, core, near_mid, du],
            [gtp, gtp::PORT, S1AP_PORT, SAMPLES_PORT],
            devices,
            &namespaces,
        )?;
        Ok(links.of(namespaces))
    }

    fn of(self, namespaces: Vec<Namespace>) -> Links {
        Links { _namespaces: namespaces, ..self }
    }

    fn between(
        split: Split,
        [near, core, near_mid, du]: [Site<'_>; 4],
        [unit_gtp, peer_gtp, s1ap, samples]: [u16; 4],
        devices: Vec<Veth>,
        _borrowed: &[Namespace],
    ) -> Result<Links, Error> {
        let peer = core.bind(peer_gtp)?;
        // in split 2 it receives from the backhaul and the midhaul, by their addresses
        let address = if split == Split::F1 && peer_gtp != 0 { Ipv4Addr::UNSPECIFIED } else { near.address };
        let unit = near.bind_to(address, unit_gtp)?;
        let port = local(&unit)?.port();
        let unit_address = SocketAddr::from((near.address, port));
        let peer_address = local(&peer)?;
        let f1 = match split {
            Split::F1 => Some((du.bind(peer_gtp)?, SocketAddr::from((near_mid.address, port)))),
            _ => None,
        };
        let samples = match split {
            Split::Samples => Some(pair(near_mid, du, [samples; 2])?),
            _ => None,
        };
        let s1 = pair(near, core, [if s1ap == 0 { 0 } else { s1ap }, s1ap])?;
        Ok(Links {
            gtp: Pair { unit, peer, unit_address, peer_address },
            s1,
            f1,
            samples,
            _devices: devices,
            _namespaces: Vec::new(),
        })
    }
}
