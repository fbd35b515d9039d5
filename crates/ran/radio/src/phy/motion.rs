//! Positions and motion of UEs.

use super::Track;
use super::site::{GeometryError, within};
use crate::Random;

/// A point on the ground.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Position {
    /// Metres to the east.
    pub x_m: f64,
    /// Metres to the north.
    pub y_m: f64,
}

impl Position {
    /// The distance to another point.
    #[must_use]
    pub fn distance_m(self, other: Position) -> f64 {
        let (x_m, y_m) = (self.x_m - other.x_m, self.y_m - other.y_m);
        (x_m * x_m + y_m * y_m).sqrt()
    }
}

/// The rectangle that UEs stay within.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Area {
    /// The south-west corner.
    pub min: Position,
    /// The north-east corner.
    pub max: Position,
}

impl Area {
    /// Whether a position is within the area or at its edge; one that is NaN is not.
    #[must_use]
    pub fn contains(&self, position: Position) -> bool {
        self.clamp(position) == position
    }

    fn clamp(&self, position: Position) -> Position {
        Position {
            x_m: position.x_m.clamp(self.min.x_m, self.max.x_m),
            y_m: position.y_m.clamp(self.min.y_m, self.max.y_m),
        }
    }

    fn anywhere(&self, random: &mut Random) -> Position {
        let between = |least: f64, most: f64, part: f64| least + (most - least) * part;
        Position {
            x_m: between(self.min.x_m, self.max.x_m, random.uniform()),
            y_m: between(self.min.y_m, self.max.y_m, random.uniform()),
        }
    }
}

/// The motion of a UE.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Motion {
    /// No motion.
    #[default]
    Still,
    /// A straight line, reflected at the edges of the area.
    Straight {
        /// The speed.
        speed_m_per_s: f64,
        /// The heading: 0 is north, 90 is east.
        heading_deg: f64,
    },
    /// Random waypoint: to a random point of the area, a pause, to the next point.
    RandomWaypoint {
        /// The minimum speed; drawn for each leg.
        min_speed_m_per_s: f64,
        /// The maximum speed.
        max_speed_m_per_s: f64,
        /// The length of each pause.
        pause_s: f64,
    },
}

/// The maximum number of legs and pauses per update; the UE stands still for the rest of the time.
const MAX_LEGS: u32 = 100;
/// The minimum speed on a leg, so that legs end.
const MIN_SPEED_M_PER_S: f64 = 0.1;
/// The bound of areas in each direction.
const MAX_COORDINATE_M: f64 = 1e6;
/// The maximum speed: 720 km/h.
const MAX_SPEED_M_PER_S: f64 = 200.0;

/// A UE that moves.
#[derive(Clone, Debug)]
pub struct MobileUe {
    area: Area,
    motion: Motion,
    position: Position,
    leg: Leg,
}

/// The current activity.
#[derive(Clone, Debug)]
enum Leg {
    /// Following a track, since a time, with a speed.
    Follow { track: Track, since_s: f64, speed_m_per_s: f64 },
    /// Standing still for a time.
    Pause { left_s: f64 },
    /// Moving to a point.
    Walk { to: Position, speed_m_per_s: f64 },
    /// Moving with a velocity until an edge is reached.
    Line { x_m_per_s: f64, y_m_per_s: f64 },
}

impl MobileUe {
    /// Places a UE at a position, with its motion within the area.
    pub fn new(area: Area, position: Position, motion: Motion) -> Result<Self, GeometryError> {
        let ordered = |least: f64, most: f64| -MAX_COORDINATE_M <= least && least <= most && most <= MAX_COORDINATE_M;
        if !ordered(area.min.x_m, area.max.x_m) || !ordered(area.min.y_m, area.max.y_m) {
            return Err(GeometryError::Area(area));
        }
        if !area.contains(position) {
            return Err(GeometryError::Outside(position));
        }
        let leg = match motion {
            Motion::Still => Leg::Pause { left_s: f64::INFINITY },
            Motion::Straight { speed_m_per_s, heading_deg } => {
                within("speed_m_per_s", speed_m_per_s, 0.0, MAX_SPEED_M_PER_S, "0 to 200")?;
                within("heading_deg", heading_deg, -360.0, 360.0, "-360 to 360")?;
                let (sin, cos) = heading_deg.to_radians().sin_cos();
                Leg::Line { x_m_per_s: speed_m_per_s * sin, y_m_per_s: speed_m_per_s * cos }
            }
            Motion::RandomWaypoint { min_speed_m_per_s, max_speed_m_per_s, pause_s } => {
                within(
                    "min_speed_m_per_s",
                    min_speed_m_per_s,
                    MIN_SPEED_M_PER_S,
                    max_speed_m_per_s,
                    "0.1 to max_speed_m_per_s",
                )?;
                within("max_speed_m_per_s", max_speed_m_per_s, MIN_SPEED_M_PER_S, MAX_SPEED_M_PER_S, "0.1 to 200")?;
                within("pause_s", pause_s, 0.0, 1e9, "0 to 1e9")?;
                Leg::Pause { left_s: 0.0 }
            }
        };
        Ok(MobileUe { area, motion, position, leg })
    }

    /// Places a UE at the start of a track, which it follows.
    #[must_use]
    pub fn on_track(track: Track) -> Self {
        let position = track.start();
        let area = Area { min: position, max: position };
        let (_, speed_m_per_s) = track.at(0.0);
        MobileUe { area, motion: Motion::Still, position, leg: Leg::Follow { track, since_s: 0.0, speed_m_per_s } }
    }

    /// The position.
    #[must_use]
    pub fn position(&self) -> Position {
        self.position
    }

    /// The current speed.
    #[must_use]
    pub fn speed_m_per_s(&self) -> f64 {
        match &self.leg {
            Leg::Pause { .. } => 0.0,
            Leg::Walk { speed_m_per_s, .. } | Leg::Follow { speed_m_per_s, .. } => *speed_m_per_s,
            Leg::Line { x_m_per_s, y_m_per_s } => (x_m_per_s * x_m_per_s + y_m_per_s * y_m_per_s).sqrt(),
        }
    }

    /// Whether it can move at all.
    #[must_use]
    pub fn moves(&self) -> bool {
        match &self.leg {
            Leg::Follow { track, .. } => track.moves(),
            _ => self.motion != Motion::Still,
        }
    }

    /// Advances the motion by a time.
    pub fn advance(&mut self, seconds: f64, random: &mut Random) {
        let mut left_s = seconds;
        for _ in 0..MAX_LEGS {
            left_s = self.leg(left_s, random);
            if left_s <= 0.0 {
                return;
            }
        }
    }

    /// Continues the current leg, and starts the next when it ends. Returns the remaining time.
    fn leg(&mut self, seconds: f64, random: &mut Random) -> f64 {
        match &mut self.leg {
            Leg::Pause { left_s } if *left_s > seconds => {
                *left_s -= seconds;
                0.0
            }
            Leg::Pause { left_s } => {
                let rest = seconds - *left_s;
                if let Motion::RandomWaypoint { min_speed_m_per_s, max_speed_m_per_s, .. } = self.motion {
                    let speed_m_per_s = min_speed_m_per_s + (max_speed_m_per_s - min_speed_m_per_s) * random.uniform();
                    self.leg = Leg::Walk { to: self.area.anywhere(random), speed_m_per_s };
                }
                rest
            }
            Leg::Walk { to, speed_m_per_s } => {
                let whole_m = self.position.distance_m(*to);
                let walked_m = *speed_m_per_s * seconds;
                if walked_m < whole_m {
                    let part = walked_m / whole_m;
                    self.position.x_m += (to.x_m - self.position.x_m) * part;
                    self.position.y_m += (to.y_m - self.position.y_m) * part;
                    return 0.0;
                }
                self.position = *to;
                let rest = seconds - whole_m / *speed_m_per_s;
                if let Motion::RandomWaypoint { pause_s, .. } = self.motion {
                    self.leg = Leg::Pause { left_s: pause_s };
                }
                rest
            }
            Leg::Follow { track, since_s, speed_m_per_s } => {
                *since_s += seconds;
                (self.position, *speed_m_per_s) = track.at(*since_s);
                0.0
            }
            Leg::Line { x_m_per_s, y_m_per_s } => {
                let Area { min, max } = self.area;
                self.position.x_m = reflect(self.position.x_m, x_m_per_s, seconds, min.x_m, max.x_m);
                self.position.y_m = reflect(self.position.y_m, y_m_per_s, seconds, min.y_m, max.y_m);
                0.0
            }
        }
    }
}

/// The position after some seconds between two reflecting edges; each reflection reverses the speed.
fn reflect(at_m: f64, m_per_s: &mut f64, seconds: f64, least_m: f64, most_m: f64) -> f64 {
    let width_m = most_m - least_m;
    if width_m <= 0.0 {
        return least_m;
    }
    // the motion is periodic over two widths
    let unfolded_m = (at_m - least_m + *m_per_s * seconds).rem_euclid(2.0 * width_m);
    if unfolded_m <= width_m {
        // an even number of reflections
        return least_m + unfolded_m;
    }
    *m_per_s = -*m_per_s;
    least_m + 2.0 * width_m - unfolded_m
}

#[cfg(test)]
mod tests {
    use super::*;

    const AREA: Area = Area { min: Position { x_m: -100.0, y_m: 0.0 }, max: Position { x_m: 100.0, y_m: 50.0 } };

    fn at(x_m: f64, y_m: f64) -> Position {
        Position { x_m, y_m }
    }

    fn near(mobile_ue: &MobileUe, x_m: f64, y_m: f64) {
        assert!(
            mobile_ue.position().distance_m(at(x_m, y_m)) < 1e-6,
            "{:?} and not {x_m}, {y_m}",
            mobile_ue.position()
        );
    }

    #[test]
    fn straight_motion_is_reflected_at_edges() {
        let mut random = Random::new(0, 0);
        let east = Motion::Straight { speed_m_per_s: 10.0, heading_deg: 90.0 };
        let mut mobile_ue = MobileUe::new(AREA, at(0.0, 20.0), east).unwrap();
        assert_eq!(mobile_ue.speed_m_per_s(), 10.0);
        for (seconds, x_m) in [(3.0, 30.0), (7.0, 100.0), (1.0, 90.0), (18.0, -90.0), (4.0, -70.0), (41.0, -60.0)] {
            mobile_ue.advance(seconds, &mut random);
            near(&mobile_ue, x_m, 20.0);
        }
        let mut in_steps =
            MobileUe::new(AREA, at(0.0, 20.0), Motion::Straight { speed_m_per_s: 17.0, heading_deg: 33.0 }).unwrap();
        let mut at_once = in_steps.clone();
        (0..977).for_each(|_| in_steps.advance(0.1, &mut random));
        at_once.advance(97.7, &mut random);
        near(&in_steps, at_once.position().x_m, at_once.position().y_m);
    }

    #[test]
    fn random_waypoint_moves_and_pauses() {
        let motion = Motion::RandomWaypoint { min_speed_m_per_s: 2.0, max_speed_m_per_s: 4.0, pause_s: 5.0 };
        let walk = |seed| {
            let mut random = Random::new(seed, 0);
            let mut mobile_ue = MobileUe::new(AREA, at(0.0, 0.0), motion).unwrap();
            let (mut stood, mut places) = (0, vec![mobile_ue.position()]);
            for _ in 0..20_000 {
                mobile_ue.advance(0.1, &mut random);
                let moved_m = mobile_ue.position().distance_m(*places.last().unwrap());
                assert!(moved_m < 0.4 + 1e-9 && AREA.clamp(mobile_ue.position()) == mobile_ue.position());
                assert!(mobile_ue.speed_m_per_s() == 0.0 || (2.0..4.0).contains(&mobile_ue.speed_m_per_s()));
                stood += u32::from(mobile_ue.speed_m_per_s() == 0.0);
                places.push(mobile_ue.position());
            }
            (stood, places)
        };
        let (stood, places) = walk(1);
        // ways of some 75 m take 25 s, pauses 5 s
        assert!((2000..5000).contains(&stood), "{stood}");
        assert!(places.iter().any(|place| place.x_m < -70.0) && places.iter().any(|place| place.x_m > 70.0));
        assert_eq!(walk(1), (stood, places.clone()));
        assert_ne!(walk(2).1, places);
    }

    #[test]
    fn long_update_terminates() {
        let mut random = Random::new(0, 0);
        let motion = Motion::RandomWaypoint { min_speed_m_per_s: 100.0, max_speed_m_per_s: 200.0, pause_s: 0.0 };
        let mut mobile_ue = MobileUe::new(AREA, at(0.0, 0.0), motion).unwrap();
        mobile_ue.advance(1e9, &mut random);
        assert_eq!(AREA.clamp(mobile_ue.position()), mobile_ue.position());
        let mut still = MobileUe::new(AREA, at(3.0, 4.0), Motion::Still).unwrap();
        still.advance(1e9, &mut random);
        assert_eq!((still.position(), still.speed_m_per_s(), still.moves()), (at(3.0, 4.0), 0.0, false));
        // an area without width is a wall
        let wall = Area { min: at(0.0, 0.0), max: at(0.0, 10.0) };
        let mut mobile_ue =
            MobileUe::new(wall, at(0.0, 0.0), Motion::Straight { speed_m_per_s: 1.0, heading_deg: 45.0 }).unwrap();
        mobile_ue.advance(1.0, &mut random);
        near(&mobile_ue, 0.0, 0.5_f64.sqrt());
    }

    #[test]
    fn invalid_motion_is_rejected() {
        let straight = |speed_m_per_s, heading_deg| Motion::Straight { speed_m_per_s, heading_deg };
        let waypoint = |min_speed_m_per_s, max_speed_m_per_s, pause_s| Motion::RandomWaypoint {
            min_speed_m_per_s,
            max_speed_m_per_s,
            pause_s,
        };
        for (motion, expected) in [
            (straight(-1.0, 0.0), "speed_m_per_s is -1: must be 0 to 200"),
            (straight(1.0, f64::NAN), "heading_deg is NaN: must be -360 to 360"),
            (waypoint(0.0, 1.0, 0.0), "min_speed_m_per_s is 0: must be 0.1 to max_speed_m_per_s"),
            (waypoint(2.0, 1.0, 0.0), "min_speed_m_per_s is 2: must be 0.1 to max_speed_m_per_s"),
            (waypoint(1.0, 201.0, 0.0), "max_speed_m_per_s is 201: must be 0.1 to 200"),
            (waypoint(1.0, 2.0, -1.0), "pause_s is -1: must be 0 to 1e9"),
        ] {
            assert_eq!(MobileUe::new(AREA, at(0.0, 0.0), motion).unwrap_err().to_string(), expected);
        }
        let error = MobileUe::new(AREA, at(0.0, 51.0), Motion::Still).unwrap_err();
        assert_eq!(error.to_string(), "position is (0, 51): must be within the area");
        assert!(MobileUe::new(AREA, at(f64::NAN, 1.0), Motion::Still).is_err());
        for area in [
            Area { min: AREA.max, max: AREA.min },
            Area { min: at(f64::NAN, 0.0), ..AREA },
            Area { max: at(f64::INFINITY, 10.0), ..AREA },
        ] {
            let error = MobileUe::new(area, at(0.0, 1.0), Motion::Still).unwrap_err().to_string();
            assert!(error.starts_with("area is from ("), "{error}");
        }
    }
}
