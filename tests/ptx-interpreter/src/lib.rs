//! Runs PTX on the processor, so that the tests can run kernels where there is no GPU.
//!
//! It is written from the manual of PTX, not from what writes the kernels: both read the manual, and where they read it
//! differently a test fails. What it does not know is an error that names the instruction. `compiler/docs/nvptx.md` says what
//! it looks at, and what it cannot tell.

mod collective;
mod convert;
mod copies;
mod decode;
mod doubt;
mod execute;
mod fault;
mod float;
mod group;
mod integer;
mod kind;
mod matrix;
mod mbarrier;
mod memory;
mod op;
mod order;
mod parse;
mod product;
mod random;
mod round;
mod tensor;
#[cfg(test)]
mod tests;
mod token;
mod warp;

pub use fault::{Error, Fault};
pub use op::Kernel;
pub use tensor::{Axis, Tensor};

use group::{Group, Launch};
use memory::{Global, Region};
use random::Random;

/// The kernels of a text.
///
/// # Errors
/// The text is no PTX, or has an instruction that the interpreter does not know.
pub fn kernels(text: &str) -> Result<Vec<Kernel>, Error> {
    let file = parse::parse(text)?;
    file.entries.iter().map(|entry| decode::kernel(&file, entry)).collect()
}

/// A device: its memory, and the order in which threads run.
#[derive(Clone, Debug)]
pub struct Device {
    memory: Global,
    random: Random,
    tensors: Vec<Tensor>,
}

impl Device {
    /// A device whose warps and groups run in an order that the seed says.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { memory: Global::default(), random: Random::new(seed), tensors: Vec::new() }
    }

    /// Memory of so many bytes, which nobody has written.
    pub fn allocate(&mut self, bytes: usize) -> u64 {
        self.memory.allocate(bytes)
    }

    /// Gives memory back; `false` if there was none at that address.
    pub fn free(&mut self, at: u64) -> bool {
        self.memory.free(at)
    }

    /// Writes bytes.
    ///
    /// # Errors
    /// So many do not lie there.
    pub fn write(&mut self, at: u64, data: &[u8]) -> Result<(), String> {
        let region = self.memory.region(at).ok_or("there is no such memory")?;
        region.put((at - region.base) as usize, data)
    }

    /// Reads bytes, whether anybody wrote them or not.
    ///
    /// # Errors
    /// So many do not lie there.
    pub fn read(&mut self, at: u64, len: usize) -> Result<&[u8], String> {
        let region = self.memory.region(at).ok_or("there is no such memory")?;
        region.get((at - region.base) as usize, len)
    }

    /// Describes a tensor; what comes out goes to kernels that copy boxes of it.
    ///
    /// # Errors
    /// The driver describes no such tensor.
    pub fn describe(&mut self, tensor: Tensor) -> Result<[u8; 128], String> {
        tensor.check()?;
        let known = self.tensors.iter().position(|known| *known == tensor);
        let number = known.unwrap_or_else(|| {
            self.tensors.push(tensor);
            self.tensors.len() - 1
        });
        let mut map = [0; 128];
        map[..8].copy_from_slice(&(number as u64 + 1).to_le_bytes());
        Ok(map)
    }

    /// Runs a kernel: groups, threads of each, bytes of shared memory that the launch adds, and the bytes of each parameter.
    ///
    /// # Errors
    /// What a thread does that it must not, or what the launch does not fit.
    pub fn launch(
        &mut self,
        kernel: &Kernel,
        grid: [u32; 3],
        block: [u32; 3],
        shared: u32,
        params: &[Vec<u8>],
    ) -> Result<(), Box<Fault>> {
        let refused = |what: String| {
            let (kernel, opcode) = (kernel.name.clone(), "launch".to_string());
            Box::new(Fault { kernel, line: 0, opcode, group: [0; 3], thread: 0, what })
        };
        let params = self.params(kernel, params).map_err(refused)?;
        let threads: u64 = block.iter().map(|n| u64::from(*n)).product();
        if kernel.threads.is_some_and(|wanted| wanted != block) || !(1..=1024).contains(&threads) {
            return Err(refused(format!("groups of {block:?} threads, not {:?}", kernel.threads)));
        }
        self.memory.begin();
        let launch = Launch { kernel, grid, block, params, dynamic: shared as usize, tensors: &self.tensors };
        let mut order: Vec<u32> = (0..grid.iter().product()).collect();
        for n in (1..order.len()).rev() {
            order.swap(n, self.random.below(n as u64 + 1) as usize);
        }
        order.into_iter().try_for_each(|n| Group::new(&launch, n, &mut self.memory, &mut self.random).run())
    }

    /// The block of parameters.
    fn params(&mut self, kernel: &Kernel, given: &[Vec<u8>]) -> Result<Region, String> {
        if given.len() != kernel.params.len() {
            return Err(format!("{} parameters, not {}", given.len(), kernel.params.len()));
        }
        let len = kernel.params.iter().zip(given).map(|(param, bytes)| param.offset + bytes.len()).max().unwrap_or(0);
        let mut all = Region::new("the parameters", 0, len);
        for (param, bytes) in kernel.params.iter().zip(given) {
            let variable = &param.variable;
            if variable.bytes != Some(bytes.len() as u64) {
                return Err(format!("`{}` is given {} bytes", variable.name, bytes.len()));
            }
            let word = bytes.first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
            if variable.pointer && word.is_none_or(|at| !at.is_multiple_of(variable.align)) {
                return Err(format!("`{}` is no multiple of {}", variable.name, variable.align));
            }
            all.put(param.offset, bytes)?;
        }
        Ok(all)
    }
}
