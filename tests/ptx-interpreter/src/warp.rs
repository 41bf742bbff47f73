//! The threads of a warp: their registers, and where in the text each of them is.

use std::collections::BTreeSet;

use crate::copies::Copies;
use crate::doubt::Doubt;
use crate::fault::{Result, wrong};
use crate::op::{Kernel, Register, Source};
use crate::order::LANES;
use crate::product::{Left, Product, Products};

/// A value for each thread.
pub(crate) type Lanes = [u64; LANES as usize];

/// Threads that are at the same instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Path {
    pub(crate) at: u32,
    pub(crate) lanes: u32,
    /// Whether they wait for others.
    pub(crate) waits: bool,
}

/// Why something is not known, before anything else was read.
const WHYS: [&str; 2] = ["nothing was written to the register", "a product that was not waited for has it"];

/// What a warp is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Runs,
    /// At a barrier of this number, for so many threads if it says how many.
    Waits {
        barrier: u64,
        threads: Option<u64>,
    },
    Ended,
}

/// A warp.
#[derive(Clone, Debug)]
pub(crate) struct Warp {
    pub(crate) number: usize,
    /// The threads that it has.
    pub(crate) all: u32,
    /// By where they are, the lowest first: so that threads that parted meet where their ways do.
    pub(crate) paths: Vec<Path>,
    pub(crate) state: State,
    values: Vec<Lanes>,
    /// Which threads wrote each register.
    known: Vec<u32>,
    /// What is not known of registers that were written.
    doubts: Vec<Option<Box<Doubt>>>,
    /// Why something is not known.
    whys: Vec<String>,
    pub(crate) copies: Copies,
    pub(crate) products: Products,
    /// How many instructions the warp has carried out.
    pub(crate) time: u64,
    /// When registers were written, by that.
    written: Vec<u64>,
    /// Registers of products that were not waited for.
    busy: BTreeSet<u32>,
    /// Whether it looked for something that is not there yet.
    pub(crate) yields: bool,
    /// A register of these that was written all the same.
    pub(crate) disturbed: Option<u32>,
}

/// The lowest thread of a mask.
pub(crate) fn first(lanes: u32) -> u32 {
    lanes.trailing_zeros().min(LANES - 1)
}

/// The threads of a mask.
pub(crate) fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    (0..LANES as usize).filter(move |lane| mask >> lane & 1 == 1)
}

impl Warp {
    pub(crate) fn new(kernel: &Kernel, number: usize, threads: u32) -> Self {
        let all = if threads >= LANES { u32::MAX } else { (1 << threads) - 1 };
        let registers = kernel.registers.len();
        let paths = vec![Path { at: 0, lanes: all, waits: false }];
        let (values, known) = (vec![[0; LANES as usize]; registers], vec![0; registers]);
        let (doubts, written) = (vec![None; registers], vec![0; registers]);
        let whys = WHYS.map(str::to_string).into();
        Self { all, paths, values, known, doubts, whys, written, ..Self::away(number) }
    }

    /// What stands in the place of a warp while it runs.
    pub(crate) fn away(number: usize) -> Self {
        Self {
            number,
            all: 0,
            paths: Vec::new(),
            state: State::Runs,
            values: Vec::new(),
            known: Vec::new(),
            doubts: Vec::new(),
            whys: Vec::new(),
            copies: Copies::default(),
            products: Products::default(),
            time: 0,
            written: Vec::new(),
            busy: BTreeSet::new(),
            yields: false,
            disturbed: None,
        }
    }

    /// The values of threads, whether they are known or not.
    pub(crate) fn value(&self, source: Source) -> Lanes {
        match source {
            Source::Value(value) => [value; LANES as usize],
            Source::Register(number) => self.values[number as usize],
        }
    }

    /// What is not known of the values of threads.
    pub(crate) fn doubt(&self, source: Source, mask: u32) -> Option<Doubt> {
        let Source::Register(number) = source else { return None };
        if self.busy.contains(&number) {
            return Some(Doubt { bits: [u64::MAX; LANES as usize], why: 1 });
        }
        let (unknown, doubt) = (mask & !self.known[number as usize], &self.doubts[number as usize]);
        if unknown == 0 && doubt.is_none() {
            return None;
        }
        let mut all = Doubt { bits: [0; LANES as usize], why: doubt.as_ref().map_or(0, |doubt| doubt.why) };
        for lane in lanes(mask) {
            let of = doubt.as_ref().map_or(0, |doubt| doubt.bits[lane]);
            all.bits[lane] = if unknown >> lane & 1 == 1 { u64::MAX } else { of };
        }
        all.bits.iter().any(|bits| *bits != 0).then_some(all)
    }

    /// The values of threads, all of which have to be known.
    pub(crate) fn read(&self, kernel: &Kernel, source: Source, mask: u32) -> Result<Lanes> {
        let Some(doubt) = self.doubt(source, mask) else { return Ok(self.value(source)) };
        let lane = lanes(mask).find(|lane| doubt.bits[*lane] != 0).unwrap_or(0);
        let name = match source {
            Source::Register(number) => kernel.registers[number as usize].as_str(),
            Source::Value(_) => "a value",
        };
        wrong(lane as u32, format!("depends on `{name}`, of which something is not known: {}", self.whys[doubt.why]))
    }

    /// Keeps in mind why something is not known.
    pub(crate) fn why(&mut self, what: String) -> usize {
        // A loop finds the same again and again.
        const KEPT: usize = 64;
        if self.whys.len() < KEPT {
            self.whys.push(what);
        }
        self.whys.len() - 1
    }

    /// Writes the values of threads, cut to the bits of the register, and what is not known of them.
    pub(crate) fn put(&mut self, to: Register, mask: u32, values: &Lanes, doubt: Option<Doubt>) {
        self.write(to, mask, values);
        let Some(doubt) = doubt else { return };
        let cut = if to.bits >= 64 { u64::MAX } else { (1 << to.bits) - 1 };
        let empty = || Box::new(Doubt { bits: [0; LANES as usize], why: doubt.why });
        let into = self.doubts[to.number as usize].get_or_insert_with(empty);
        into.why = doubt.why;
        lanes(mask).for_each(|lane| into.bits[lane] = doubt.bits[lane] & cut);
    }

    /// Writes the values of threads, cut to the bits of the register.
    pub(crate) fn write(&mut self, to: Register, mask: u32, values: &Lanes) {
        let number = to.number as usize;
        if self.busy.contains(&to.number) {
            self.disturbed = Some(to.number);
        }
        self.written[number] = self.time;
        let cut = if to.bits >= 64 { u64::MAX } else { (1 << to.bits) - 1 };
        let into = &mut self.values[number];
        if mask == u32::MAX {
            into.iter_mut().zip(values).for_each(|(into, value)| *into = value & cut);
        } else {
            lanes(mask).for_each(|lane| into[lane] = values[lane] & cut);
        }
        self.known[number] |= mask;
        if let Some(doubt) = &mut self.doubts[number] {
            lanes(mask).for_each(|lane| doubt.bits[lane] = 0);
            if doubt.bits == [0; LANES as usize] {
                self.doubts[number] = None;
            }
        }
    }

    /// That registers can be a product's sums and left factor: they are known, but for sums that are made anew, and a fence
    /// stands behind what was written to them. The sums are in use from here on.
    pub(crate) fn ready_for_product(&mut self, kernel: &Kernel, product: &Product, added: bool) -> Result {
        let sums = product.sums.iter().map(|sum| (sum.number, added, "adds to"));
        let words = match &product.left {
            Left::Words(words) => words.as_slice(),
            Left::Tile(_) => &[],
        };
        let words = words.iter().filter_map(|word| match word {
            Source::Register(number) => Some((*number, true, "multiplies")),
            Source::Value(_) => None,
        });
        let unused = |(number, ..): &(u32, bool, &str)| !self.busy.contains(number);
        for (number, known, does) in sums.filter(unused).chain(words) {
            if known {
                self.read(kernel, Source::Register(number), u32::MAX)?;
            }
            if self.products.fenced.is_none_or(|fenced| self.written[number as usize] > fenced) {
                let name = &kernel.registers[number as usize];
                return wrong(0, format!("{does} `{name}`, which was written without `wgmma.fence` behind it"));
            }
        }
        self.busy.extend(product.sums.iter().map(|sum| sum.number));
        Ok(())
    }

    /// Writes the sums of a product that was waited for.
    pub(crate) fn finish(&mut self, to: Register, values: &Lanes) {
        let number = to.number as usize;
        (self.values[number], self.known[number], self.doubts[number]) = (*values, u32::MAX, None);
    }

    /// Products were waited for: who still uses registers.
    pub(crate) fn settle(&mut self) {
        self.busy = self.products.registers();
    }

    /// The path to follow: the lowest that does not wait.
    pub(crate) fn path(&self) -> Option<usize> {
        self.paths.iter().position(|path| !path.waits)
    }

    /// Puts paths in order, those at the same place together.
    pub(crate) fn arrange(&mut self) {
        if self.paths.len() < 2 {
            return;
        }
        self.paths.sort_unstable_by_key(|path| path.at);
        self.paths.dedup_by(|next, path| {
            let same = next.at == path.at;
            if same {
                path.lanes |= next.lanes;
                path.waits = false;
            }
            same
        });
    }

    /// Threads that have not ended.
    pub(crate) fn alive(&self) -> u32 {
        self.paths.iter().fold(0, |all, path| all | path.lanes)
    }
}
