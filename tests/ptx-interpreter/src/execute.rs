//! Instructions, carried out for some threads of a warp.

use crate::doubt::{Doubt, Spread};
use crate::fault::{Result, wrong};
use crate::group::Group;
use crate::integer;
use crate::kind::{low, signed};
use crate::memory::Region;
use crate::op::{Address, Elements, Op, Register, Shuffle, Source, Space};
use crate::order::{Access, LANES, Who};
use crate::warp::{Lanes, State, Warp, first, lanes};

/// A number of so many bytes.
fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

impl Group<'_> {
    pub(crate) fn execute(&mut self, warp: &mut Warp, op: &Op, active: u32, line: u32) -> Result {
        let kernel = self.launch.kernel;
        let read = |warp: &Warp, source: Source| warp.read(kernel, source, active);
        match op {
            Op::One(f, spread, to, from) => compute(warp, |[a]| f(a), *spread, *to, from, active),
            Op::Two(f, spread, to, from) => compute(warp, |[a, b]| f(a, b), *spread, *to, from, active),
            Op::Three(f, spread, to, from) => compute(warp, |[a, b, c]| f(a, b, c), *spread, *to, from, active),
            Op::Insert(to, from, bits) => {
                let f = |[a, b, at, len]: [u64; 4]| integer::insert(a, b, at, len, *bits);
                compute(warp, f, Spread::Moved(2), *to, from, active);
            }
            Op::Convert(convert, to, a) => compute(warp, |[a]| convert.call(a), convert.spread(), *to, &[*a], active),
            Op::ConvertPair(convert, to, from) => {
                let f = |[high, low]: [u64; 2]| convert.call(high) << 16 | convert.call(low);
                compute(warp, f, Spread::Whole, *to, from, active);
            }
            Op::Divide(f, to, [a, b], bits) => {
                let divisors = read(warp, *b)?;
                if let Some(lane) = lanes(active).find(|lane| low(divisors[*lane], *bits) == 0) {
                    return wrong(lane as u32, "divides by 0");
                }
                compute(warp, |[a, b]| f(a, b), Spread::Whole, *to, &[*a, *b], active);
            }
            Op::Special(what, to) => {
                let values = self.special(warp, *what);
                warp.write(*to, active, &values);
            }
            Op::Split(parts, each, from) => {
                for (n, part) in (0..).zip(parts) {
                    let Some(part) = part else { continue };
                    compute(warp, |[a]| a >> (n * each), Spread::Moved(1), *part, &[*from], active);
                }
            }
            Op::Join(to, parts, each) => join(warp, *to, parts, *each, active),
            Op::Load { elements, signed, constant } => self.load(warp, elements, (*signed, *constant), active, line)?,
            Op::Store(elements) => self.store(warp, elements, active, line)?,
            Op::Shuffle { how, to, valid, value, by, limits } => {
                let operands = [warp.value(*value), read(warp, *by)?, read(warp, *limits)?];
                let doubt = warp.doubt(*value, active);
                shuffle(warp, *how, (*to, *valid), &operands, doubt, active)?;
            }
            Op::Barrier { number, threads } => {
                let lane = first(active) as usize;
                let threads = threads.map(|threads| read(warp, threads)).transpose()?.map(|threads| threads[lane]);
                warp.state = State::Waits { barrier: read(warp, *number)?[lane], threads };
            }
            Op::WarpBarrier => self.order.meet_in(warp.number),
            Op::Copy(copying) => self.copy(warp, copying, active, line)?,
            Op::CopyCommit => warp.copies.commit(active),
            Op::CopyWait(leaves) => self.wait_for_copies(warp, *leaves, active, line)?,
            Op::Show => self.order.show(warp.number),
            Op::LoadMatrices(to, transposed, at) => self.load_matrices(warp, (to, *transposed), at, active, line)?,
            Op::Multiply(mma) => self.multiply(warp, mma, active)?,
            Op::ProductFence => warp.products.fenced = Some(warp.time),
            Op::Product(product) => self.begin_product(warp, product, line)?,
            Op::ProductCommit => warp.products.commit(),
            Op::ProductWait(leaves) => {
                self.wait_for_products(warp, *leaves)?;
                warp.settle();
            }
            Op::Mbarrier(act, at) => self.mbarrier(warp, act, at, active, line)?,
            Op::CopyBox(bulk) => self.copy_box(warp, bulk, active, line)?,
            Op::Branch(_) | Op::Return | Op::Nothing => {}
        }
        Ok(())
    }

    /// Where each thread finds what an address says.
    pub(crate) fn addresses(&self, warp: &Warp, address: &Address, active: u32) -> Result<Lanes> {
        let base = warp.read(self.launch.kernel, address.base, active)?;
        Ok(base.map(|base| base.wrapping_add(address.offset as u64)))
    }

    fn load(
        &mut self,
        warp: &mut Warp,
        elements: &Elements<Option<Register>>,
        (with_sign, constant): (bool, bool),
        active: u32,
        line: u32,
    ) -> Result {
        let at = self.addresses(warp, &elements.at, active)?;
        let (mut values, mut doubts) = ([[0; LANES as usize]; 4], [[0; LANES as usize]; 4]);
        let (bytes, count) = (elements.bytes, elements.all.len());
        let access = if constant { Access::ReadConstant } else { Access::Read };
        let mut why = None;
        for lane in lanes(active) {
            let Self { global, shared, local, order, launch, .. } = &mut *self;
            let who = Who { order, thread: warp.number as u32 * LANES + lane as u32, line };
            let len = bytes * count;
            let looked = match elements.at.space {
                Space::Param => launch.params.parameter(at[lane], len, &who)?,
                Space::Local => own(local, &who)?.look(at[lane], len, &who, None)?,
                Space::Global => global.at(at[lane], &who)?.look(at[lane], len, &who, Some(access))?,
                Space::Shared => shared.look(at[lane], len, &who, Some(access))?,
            };
            why = why.or(looked.why.map(|why| format!("thread {}, line {line}, {why}", who.thread)));
            for n in 0..count {
                let range = n * bytes..(n + 1) * bytes;
                let value = number(&looked.bytes[range.clone()]);
                values[n][lane] = if with_sign { signed(value, 8 * bytes as u32) as u64 } else { value };
                let doubt =
                    looked.unknown[range].iter().rev().fold(0, |doubt, byte| doubt << 8 | if *byte { 0xFF } else { 0 });
                doubts[n][lane] = if with_sign { signed(doubt, 8 * bytes as u32) as u64 } else { doubt };
            }
        }
        let why = why.map(|why| warp.why(why));
        for ((to, values), bits) in elements.all.iter().zip(&values).zip(doubts) {
            let doubt = why.filter(|_| bits != [0; LANES as usize]).map(|why| Doubt { bits, why });
            if let Some(to) = to {
                warp.put(*to, active, values, doubt);
            }
        }
        Ok(())
    }

    fn store(&mut self, warp: &Warp, elements: &Elements<Source>, active: u32, line: u32) -> Result {
        let at = self.addresses(warp, &elements.at, active)?;
        // A thread's own memory is where registers go, known or not.
        let own_memory = elements.at.space == Space::Local;
        let read = |source: &Source| {
            if own_memory { Ok(warp.value(*source)) } else { warp.read(self.launch.kernel, *source, active) }
        };
        let values: Vec<Lanes> = elements.all.iter().map(read).collect::<Result<_>>()?;
        let doubts: Vec<_> = elements.all.iter().map(|source| warp.doubt(*source, active)).collect();
        let bytes = elements.bytes;
        for lane in lanes(active) {
            let mut data = [0; 16];
            for (to, values) in data.chunks_mut(bytes).zip(&values) {
                to.copy_from_slice(&values[lane].to_le_bytes()[..bytes]);
            }
            let data = &data[..bytes * values.len()];
            let Self { global, shared, local, order, .. } = &mut *self;
            let who = Who { order, thread: warp.number as u32 * LANES + lane as u32, line };
            match elements.at.space {
                Space::Param => return wrong(lane as u32, "writes to a parameter"),
                Space::Local => {
                    let unknown = |n: &usize| {
                        doubts[n / bytes].as_ref().is_some_and(|d| d.bits[lane] >> (n % bytes * 8) & 0xFF != 0)
                    };
                    let unknown = (0..data.len()).filter(unknown).fold(0, |mask, n| mask | 1 << n);
                    own(local, &who)?.write_own(at[lane], data, unknown, &who)?;
                }
                Space::Global => global.at(at[lane], &who)?.write(at[lane], data, &who, Access::Write)?,
                Space::Shared => shared.write(at[lane], data, &who, Access::Write)?,
            }
        }
        Ok(())
    }
}

/// A thread's own memory.
fn own<'a>(local: &'a mut [Region], who: &Who<'_>) -> Result<&'a mut Region> {
    let lane = who.thread % LANES;
    local.get_mut(who.thread as usize).map_or_else(|| wrong(lane, "has no memory of its own"), Ok)
}

/// Computes a value for each thread, and what is not known of it.
fn compute<const N: usize>(
    warp: &mut Warp,
    f: impl Fn([u64; N]) -> u64,
    spread: Spread,
    to: Register,
    from: &[Source; N],
    active: u32,
) {
    let values = from.map(|source| warp.value(source));
    let doubts = from.map(|source| warp.doubt(source, active));
    let doubt = spread.of_all(&f, &values, &doubts);
    let made: Lanes = std::array::from_fn(|lane| f(std::array::from_fn(|n| values[n][lane])));
    warp.put(to, active, &made, doubt);
}

/// Puts parts together, the lowest first.
fn join(warp: &mut Warp, to: Register, parts: &[Source], each: u32, active: u32) {
    let (mut all, mut open, mut why) = ([0; LANES as usize], [0; LANES as usize], None);
    for (n, part) in (0..).zip(parts) {
        let (value, doubt) = (warp.value(*part), warp.doubt(*part, active));
        why = why.or(doubt.as_ref().map(|doubt| doubt.why));
        for lane in 0..all.len() {
            all[lane] |= low(value[lane], each) << (n * each);
            open[lane] |= low(doubt.as_ref().map_or(0, |doubt| doubt.bits[lane]), each) << (n * each);
        }
    }
    warp.put(to, active, &all, why.map(|why| Doubt { bits: open, why }));
}

/// An exchange between threads. Limits hold the lane at which a segment ends, and a mask that says how long segments are.
fn shuffle(
    warp: &mut Warp,
    how: Shuffle,
    (to, valid): (Register, Option<Register>),
    [value, by, limits]: &[Lanes; 3],
    doubt: Option<Doubt>,
    active: u32,
) -> Result {
    let mut open = [0; LANES as usize];
    let (mut values, mut found) = ([0; LANES as usize], [0; LANES as usize]);
    for lane in lanes(active) {
        let (by, clamp, segment) = (by[lane] & 31, limits[lane] & 31, limits[lane] >> 8 & 31);
        let this = lane as u64;
        let most = this & segment | clamp & !segment;
        let least = this & segment;
        let (from, inside) = match how {
            Shuffle::Up => (this.wrapping_sub(by), this as i64 - by as i64 >= most as i64),
            Shuffle::Down => (this + by, this + by <= most),
            Shuffle::Butterfly => (this ^ by, this ^ by <= most),
            Shuffle::Index => (least | by & !segment, least | by & !segment <= most),
        };
        let from = if inside { from as usize } else { lane };
        if active >> from & 1 == 0 {
            return wrong(lane as u32, format!("takes the value of thread {from} of its warp, which takes no part"));
        }
        (values[lane], found[lane]) = (value[from], u64::from(inside));
        open[lane] = doubt.as_ref().map_or(0, |doubt| doubt.bits[from]);
    }
    warp.put(to, active, &values, doubt.map(|doubt| Doubt { bits: open, why: doubt.why }));
    if let Some(valid) = valid {
        warp.write(valid, active, &found);
    }
    Ok(())
}
