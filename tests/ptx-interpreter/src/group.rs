//! A group of threads: its warps take turns, in an order that a seed says, until all have ended.

use crate::decode::{LOCAL, SHARED};
use crate::fault::{Fault, Result, Wrong, wrong};
use crate::mbarrier::Mbarriers;
use crate::memory::{Global, Region};
use crate::op::{Kernel, Op, Source, Special, Together};
use crate::order::{LANES, Order};
use crate::random::Random;
use crate::tensor::{Flight, Tensor};
use crate::warp::{Lanes, Path, State, Warp, first};

/// Instructions after which a group that never ends is given up.
const ENDLESS: u64 = 1 << 25;

/// How many instructions a warp has in one turn, at most.
const TURN: u64 = 256;

/// In how many turns one of the copies of boxes comes that are on their way.
const LANDINGS: u64 = 4;

/// What all groups of a launch have in common.
pub(crate) struct Launch<'a> {
    pub(crate) kernel: &'a Kernel,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    /// The block of parameters.
    pub(crate) params: Region,
    /// Bytes of shared memory beside those that the text says.
    pub(crate) dynamic: usize,
    /// The tensors that parameters describe.
    pub(crate) tensors: &'a [Tensor],
}

/// A group that runs.
pub(crate) struct Group<'a> {
    pub(crate) launch: &'a Launch<'a>,
    pub(crate) place: [u32; 3],
    pub(crate) global: &'a mut Global,
    pub(crate) shared: Region,
    /// Each thread's own memory.
    pub(crate) local: Vec<Region>,
    pub(crate) order: Order,
    pub(crate) random: &'a mut Random,
    pub(crate) mbarriers: Mbarriers,
    /// Copies of boxes that are on their way.
    pub(crate) flights: Vec<Flight>,
    warps: Vec<Warp>,
}

impl<'a> Group<'a> {
    pub(crate) fn new(launch: &'a Launch<'a>, number: u32, global: &'a mut Global, random: &'a mut Random) -> Self {
        let (kernel, [gx, gy, _]) = (launch.kernel, launch.grid);
        let threads: u32 = launch.block.iter().product();
        let warp = |n: u32| Warp::new(kernel, n as usize, (threads - n * LANES).min(LANES));
        let warps: Vec<Warp> = (0..threads.div_ceil(LANES)).map(warp).collect();
        let shared = if launch.dynamic == 0 { kernel.shared } else { kernel.dynamic + launch.dynamic };
        let own = if kernel.local == 0 { 0 } else { threads };
        Self {
            launch,
            place: [number % gx, number / gx % gy, number / gx / gy],
            global,
            shared: Region::new("shared memory", SHARED, shared),
            local: (0..own).map(|_| Region::new("a thread's own memory", LOCAL, kernel.local)).collect(),
            order: Order::new(number, warps.len()),
            random,
            mbarriers: Mbarriers::default(),
            flights: Vec::new(),
            warps,
        }
    }

    /// Runs all warps to their end.
    pub(crate) fn run(mut self) -> std::result::Result<(), Box<Fault>> {
        let mut left = ENDLESS;
        loop {
            let ready: Vec<usize> = (0..self.warps.len()).filter(|n| self.warps[*n].state == State::Runs).collect();
            if (ready.is_empty() || self.random.below(LANDINGS) == 0) && self.come()? {
                continue;
            }
            if ready.is_empty() {
                if self.warps.iter().all(|warp| warp.state == State::Ended) {
                    return Ok(());
                }
                self.meet()?;
                continue;
            }
            let turn = 1 + self.random.below(TURN);
            left = left.saturating_sub(turn);
            let n = ready[self.random.below(ready.len() as u64) as usize];
            self.turn(n, if left == 0 { None } else { Some(turn) })?;
            self.meet_some()?;
        }
    }

    /// Lets a copy come that is on its way.
    fn come(&mut self) -> std::result::Result<bool, Box<Fault>> {
        if self.warps.iter().all(|warp| warp.state == State::Ended) && !self.flights.is_empty() {
            let what = "the group ends, and copies of boxes are still on their way";
            return Err(self.fault(&self.warps[0], u32::MAX, &Wrong::new(0, what)));
        }
        self.land().map_err(|wrong| self.fault(&self.warps[0], u32::MAX, &wrong))
    }

    /// A fault of a warp at its lowest instruction.
    fn fault(&self, warp: &Warp, at: u32, wrong: &Wrong) -> Box<Fault> {
        let kernel = self.launch.kernel;
        let at = (at as usize).min(kernel.code.len().saturating_sub(1));
        Box::new(Fault {
            kernel: kernel.name.clone(),
            line: kernel.code.get(at).map_or(0, |instruction| instruction.line),
            opcode: kernel.opcodes.get(at).cloned().unwrap_or_default(),
            group: self.place,
            thread: warp.number as u32 * LANES + wrong.lane,
            what: wrong.what.clone(),
        })
    }

    /// Lets a warp run for some instructions; none is what a group has that never ends.
    fn turn(&mut self, n: usize, instructions: Option<u64>) -> std::result::Result<(), Box<Fault>> {
        // So that the warp and the group can be changed at once.
        let mut warp = std::mem::replace(&mut self.warps[n], Warp::away(n));
        for _ in 0..instructions.unwrap_or(0) {
            if warp.state != State::Runs || std::mem::take(&mut warp.yields) {
                break;
            }
            let at = warp.paths.get(warp.path().unwrap_or(0)).map_or(0, |path| path.at);
            self.step(&mut warp).map_err(|wrong| self.fault(&warp, at, &wrong))?;
        }
        if instructions.is_none() {
            let at = warp.paths.first().map_or(0, |path| path.at);
            return Err(self.fault(&warp, at, &Wrong::new(0, "the group does not end")));
        }
        self.warps[n] = warp;
        Ok(())
    }

    /// One instruction of one path of a warp.
    fn step(&mut self, warp: &mut Warp) -> Result {
        let Some(chosen) = warp.path() else {
            let what = match warp.alive() == warp.all {
                true => "threads of a warp wait for each other at different places",
                false => "waits for threads of its warp that have ended",
            };
            return wrong(first(warp.alive()), what);
        };
        let path = warp.paths[chosen];
        let kernel = self.launch.kernel;
        let Some(instruction) = kernel.code.get(path.at as usize) else {
            return wrong(first(path.lanes), "runs beyond the end of the function");
        };
        let active = match instruction.guard {
            None => path.lanes,
            Some((predicate, holds)) => {
                let values = warp.read(kernel, Source::Register(predicate), path.lanes)?;
                (0..LANES).fold(0, |mask, lane| mask | u32::from((values[lane as usize] == 1) == holds) << lane)
                    & path.lanes
            }
        };
        if !together(warp, chosen, active, instruction.together)? {
            return Ok(());
        }
        match &instruction.op {
            Op::Branch(to) => part(warp, chosen, active, *to),
            Op::Return => {
                warp.paths[chosen] = Path { at: path.at + 1, lanes: path.lanes & !active, waits: false };
                if warp.paths[chosen].lanes == 0 {
                    warp.paths.remove(chosen);
                }
                if warp.paths.is_empty() {
                    warp.state = State::Ended;
                }
            }
            op => {
                if active != 0 {
                    warp.time += 1;
                    self.execute(warp, op, active, instruction.line)?;
                }
                if let Some(register) = warp.disturbed {
                    let name = &kernel.registers[register as usize];
                    return wrong(
                        first(active),
                        format!("writes `{name}`, which a product that was not waited for has"),
                    );
                }
                warp.paths[chosen].at = path.at + 1;
            }
        }
        warp.arrange();
        Ok(())
    }

    pub(crate) fn special(&self, warp: &Warp, what: Special) -> Lanes {
        let [x, y, _] = self.launch.block;
        std::array::from_fn(|lane| {
            let thread = warp.number as u32 * LANES + lane as u32;
            u64::from(match what {
                Special::Thread(0) => thread % x,
                Special::Thread(1) => thread / x % y,
                Special::Thread(_) => thread / x / y,
                Special::Threads(axis) => self.launch.block[axis],
                Special::Group(axis) => self.place[axis],
                Special::Groups(axis) => self.launch.grid[axis],
                Special::Lane => lane as u32,
            })
        })
    }

    /// Lets those go on that all came to a barrier for so many threads.
    fn meet_some(&mut self) -> std::result::Result<(), Box<Fault>> {
        let waiting = |warp: &Warp| match warp.state {
            State::Waits { barrier, threads: Some(threads) } => Some((barrier, threads)),
            _ => None,
        };
        let found: Vec<_> = self.warps.iter().filter_map(waiting).collect();
        for wanted in found {
            let there: Vec<usize> =
                (0..self.warps.len()).filter(|n| waiting(&self.warps[*n]) == Some(wanted)).collect();
            let count: u64 =
                there.iter().map(|n| u64::from(self.warps[*n].all.count_ones().next_multiple_of(LANES))).sum();
            if count == wanted.1 && !there.is_empty() {
                self.order.meet(&there);
                there.iter().for_each(|n| self.warps[*n].state = State::Runs);
            }
        }
        Ok(())
    }

    /// Nobody runs: all are at the same barrier, or never go on.
    fn meet(&mut self) -> std::result::Result<(), Box<Fault>> {
        let all: Vec<usize> = (0..self.warps.len()).collect();
        let Some(warp) = self.warps.iter().find(|warp| warp.state != State::Ended) else { return Ok(()) };
        let same = all.iter().all(|n| self.warps[*n].state == warp.state);
        let alone = matches!(warp.state, State::Waits { threads: None, .. });
        if !same || !alone {
            let at = warp.paths.first().map_or(0, |path| path.at.saturating_sub(1));
            let what = "waits at a barrier to which others do not come: they have ended, or wait elsewhere";
            return Err(self.fault(warp, at, &Wrong::new(first(warp.alive()), what)));
        }
        self.order.meet(&all);
        self.warps.iter_mut().for_each(|warp| warp.state = State::Runs);
        Ok(())
    }
}

/// Whether those who have to come together are there; else they wait.
fn together(warp: &mut Warp, chosen: usize, active: u32, who: Together) -> Result<bool> {
    let (wanted, lanes) = match who {
        Together::Alone => return Ok(true),
        Together::These(mask) if active & !mask != 0 => {
            return wrong(first(active & !mask), "is none of the threads that the mask names");
        }
        Together::These(mask) if active == 0 => (0, mask),
        Together::These(mask) => (mask, mask),
        Together::All => (warp.all, warp.all),
    };
    if wanted & !warp.alive() != 0 {
        return wrong(first(active), "waits for threads of its warp that have ended, or that there are not");
    }
    if wanted & !warp.paths[chosen].lanes != 0 {
        warp.paths[chosen].waits = true;
        return Ok(false);
    }
    if active & wanted != wanted && lanes != 0 && active != 0 {
        return wrong(first(active), "threads of its warp that have to take part do not, by a predicate");
    }
    Ok(true)
}

/// Some threads of a path go elsewhere.
fn part(warp: &mut Warp, chosen: usize, active: u32, to: u32) {
    let path = warp.paths[chosen];
    let stay = path.lanes & !active;
    if active == 0 {
        warp.paths[chosen].at = path.at + 1;
        return;
    }
    warp.paths[chosen] = Path { at: to, lanes: active, waits: false };
    if stay != 0 {
        warp.paths.push(Path { at: path.at + 1, lanes: stay, waits: false });
    }
}
