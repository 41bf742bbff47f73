//! Copies of boxes of tensors to shared memory (`cp.async.bulk.tensor`), which one thread begins and an mbarrier tells of.

use crate::fault::{Result, wrong};
use crate::group::Group;
use crate::op::{Address, Source};
use crate::order::{Access, LANES, Who};
use crate::warp::{Warp, lanes};

/// An axis of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axis {
    /// How many elements the tensor has.
    pub extent: u64,
    /// Bytes from one element to the next.
    pub stride: u64,
    /// How many elements a box has.
    pub width: u32,
}

/// A tensor in memory, of which boxes are copied: a line of a box along the innermost axis has at most 128 bytes, whose
/// chunks of 16 lie in the order of the swizzle by 128 bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    /// Where it begins.
    pub at: u64,
    /// Bytes of an element.
    pub element: u64,
    /// The innermost axis first.
    pub axes: Vec<Axis>,
}

/// Bytes of a line of a box, at most.
const LINE: u64 = 128;

impl Tensor {
    /// That the driver describes such a tensor.
    ///
    /// # Errors
    /// What the manual of the driver wants otherwise.
    pub fn check(&self) -> std::result::Result<(), String> {
        let Some((first, rest)) = self.axes.split_first() else { return Err("a tensor has 1 to 5 axes".into()) };
        let line = u64::from(first.width) * self.element;
        let fits = [
            (self.axes.len() <= 5, "a tensor has 1 to 5 axes"),
            (self.at.is_multiple_of(16), "a tensor begins at a multiple of 16"),
            (self.axes.iter().all(|axis| (1..=1 << 32).contains(&axis.extent)), "extents are 1 to 2^32"),
            (self.axes.iter().all(|axis| (1..=256).contains(&axis.width)), "axes of a box have 1 to 256 elements"),
            (
                rest.iter().all(|axis| axis.stride.is_multiple_of(16) && axis.stride < 1 << 40),
                "strides are multiples of 16",
            ),
            (first.stride == self.element, "elements of the innermost axis are neighbours"),
            (line.is_multiple_of(16) && line <= LINE, "lines of a box are multiples of 16 bytes, 128 at most"),
        ];
        fits.iter().find(|(fits, _)| !fits).map_or(Ok(()), |(_, what)| Err(format!("{what}: {self:?}")))
    }

    /// How many bytes a box has.
    fn bytes(&self) -> u64 {
        self.axes.iter().map(|axis| u64::from(axis.width)).product::<u64>() * self.element
    }
}

/// A copy as the instruction says it.
#[derive(Clone, Debug)]
pub(crate) struct Bulk {
    pub(crate) to: Address,
    /// The address of the tensor's description among the parameters.
    pub(crate) map: Source,
    pub(crate) begins: Vec<Source>,
    pub(crate) tells: Address,
}

/// A copy that is on its way: pieces of at most 16 bytes, and where they go.
#[derive(Clone, Debug)]
pub(crate) struct Flight {
    pieces: Vec<(u64, Vec<u8>)>,
    bytes: usize,
    tells: u64,
    line: u32,
}

/// Bytes that keep their order whatever the swizzle.
const CHUNK: u64 = 16;

impl Group<'_> {
    /// The tensor that a parameter describes.
    fn tensor(&self, map: u64, who: &Who<'_>) -> Result<Tensor> {
        let word = self.launch.params.parameter(map, 8, who)?.bytes;
        let number = word.first_chunk().map_or(u64::MAX, |bytes| u64::from_le_bytes(*bytes));
        let tensor =
            number.checked_sub(1).and_then(|n| self.launch.tensors.get(n as usize)).filter(|_| map.is_multiple_of(64));
        tensor
            .map_or_else(|| wrong(who.thread % LANES, format!("no tensor is described at {map:#x}")), |t| Ok(t.clone()))
    }

    /// Begins the copy of a box.
    pub(crate) fn copy_box(&mut self, warp: &mut Warp, bulk: &Bulk, active: u32, line: u32) -> Result {
        let (to, tells) = (self.addresses(warp, &bulk.to, active)?, self.addresses(warp, &bulk.tells, active)?);
        let kernel = self.launch.kernel;
        let map = warp.read(kernel, bulk.map, active)?;
        let begins = bulk.begins.iter().map(|at| warp.read(kernel, *at, active)).collect::<Result<Vec<_>>>()?;
        for lane in lanes(active) {
            let thread = warp.number as u32 * LANES + lane as u32;
            let tensor = self.tensor(map[lane], &Who { order: &self.order, thread, line })?;
            if tensor.axes.len() != begins.len() || !to[lane].is_multiple_of(LINE) {
                return wrong(lane as u32, format!("a box of {} axes at {:#x}", tensor.axes.len(), to[lane]));
            }
            let begins: Vec<i64> = begins.iter().map(|at| i64::from(at[lane] as u32 as i32)).collect();
            let pieces = self.pieces(&tensor, &begins, to[lane], (thread, line))?;
            let Self { shared, order, .. } = &mut *self;
            let who = Who { order, thread, line };
            shared.read(tells[lane], 8, &who, Access::Read)?;
            for (at, data) in &pieces {
                if let Some(made) = shared.writer(*at).filter(|made| !order.is_shown(made)) {
                    let what = "without a fence to the asynchronous proxy behind it";
                    return wrong(lane as u32, format!("copies to {at:#x}, written in line {} {what}", made.line));
                }
                shared.await_copy(*at, data.len(), &who)?;
            }
            let flight = Flight { pieces, bytes: tensor.bytes() as usize, tells: tells[lane], line };
            self.flights.push(flight);
        }
        Ok(())
    }

    /// The pieces of a box, zeros where it lies outside of the tensor.
    fn pieces(
        &mut self,
        tensor: &Tensor,
        begins: &[i64],
        to: u64,
        (thread, line): (u32, u32),
    ) -> Result<Vec<(u64, Vec<u8>)>> {
        let inner = &tensor.axes[0];
        let lines: u64 = tensor.axes[1..].iter().map(|axis| u64::from(axis.width)).product();
        let line_bytes = u64::from(inner.width) * tensor.element;
        let mut all = Vec::new();
        for n in 0..lines {
            let (mut rest, mut from, mut inside) = (n, tensor.at as i64, true);
            for (axis, begin) in tensor.axes[1..].iter().zip(&begins[1..]) {
                let at = begin + (rest % u64::from(axis.width)) as i64;
                rest /= u64::from(axis.width);
                inside &= (0..axis.extent as i64).contains(&at);
                from += at * axis.stride as i64;
            }
            for chunk in 0..line_bytes / CHUNK {
                let mut data = vec![0; CHUNK as usize];
                for (e, data) in (0..).zip(data.chunks_mut(tensor.element as usize)) {
                    let at = begins[0] + (chunk * CHUNK / tensor.element) as i64 + e;
                    if inside && (0..inner.extent as i64).contains(&at) {
                        let Self { global, order, .. } = &mut *self;
                        let who = Who { order, thread, line };
                        let from = (from + at * tensor.element as i64) as u64;
                        data.copy_from_slice(global.at(from, &who)?.read(from, data.len(), &who, Access::Read)?);
                    }
                }
                let plain = to + n * line_bytes + chunk * CHUNK;
                all.push((plain ^ (plain >> 7 & 7) << 4, data));
            }
        }
        Ok(all)
    }

    /// Lets one of the copies that are on their way come.
    pub(crate) fn land(&mut self) -> Result<bool> {
        if self.flights.is_empty() {
            return Ok(false);
        }
        let n = self.random.below(self.flights.len() as u64) as usize;
        let flight = self.flights.swap_remove(n);
        let Self { shared, order, mbarriers, .. } = &mut *self;
        let engine = order.engine(mbarriers.number(flight.tells));
        order.later();
        let who = Who { order, thread: engine as u32 * LANES, line: flight.line };
        for (at, data) in &flight.pieces {
            shared.arrive(*at, data, &who)?;
        }
        mbarriers.came(flight.tells, flight.bytes, order, engine)?;
        Ok(true)
    }
}
