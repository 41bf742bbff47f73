//! Programs for devices: kernels and the steps of a call. The layout stands in [`tenfold_abi::program`].

mod entry;
mod kernels;

use tenfold_abi::program::{Arg, Buffer, Counts, Kernel, Map, Node, Place, Step};
use tenfold_ir::Loc;

use crate::CompileError;
pub use entry::{Kernel as DeviceKernel, KernelMap, of_entry};
pub use kernels::{kernel, kernels};

/// What a function does on a device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// How many index values the entry takes: index parameters, then named dims, as the convention orders them.
    pub dims: u32,
    /// How many parameters are tensors.
    pub params: u32,
    /// How many results there are.
    pub results: u32,
    /// How many parameters are scalars.
    pub scalars: u32,
    /// The expression that says how many bytes the workspace has.
    pub workspace: u32,
    /// Expressions, each over those before it.
    pub nodes: Vec<Node>,
    /// The memory that kernels use.
    pub buffers: Vec<Buffer>,
    /// The constants that kernels read.
    pub constants: Vec<Constant>,
    /// The kernels.
    pub kernels: Vec<Code>,
    /// The steps of a call.
    pub steps: Vec<Step>,
    /// The arguments of all launches.
    pub args: Vec<Arg>,
    /// The tensors of which kernels copy boxes.
    pub maps: Vec<Map>,
}

/// A constant, which is linked and not part of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constant {
    /// The hash of its content, as [`constant_symbol`](crate::constant_symbol) takes it.
    pub hash: String,
    /// How many bytes it has.
    pub bytes: u64,
}

/// What a back end makes of a kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Code {
    /// Its name in messages.
    pub name: String,
    /// SPIR-V words, least byte first, or the text of PTX.
    pub code: Vec<u8>,
    /// Threads of a group along x, y and z.
    pub local: [u32; 3],
    /// How many threads a subgroup must have; 0 if any number will do.
    pub subgroup: u32,
    /// What the device must be able to do: a bit per [`Feature`](tenfold_abi::program::Feature).
    pub features: u64,
    /// What devices take that lack one of these: of the same arguments and threads.
    pub instead: Option<Box<Code>>,
    /// The constants that a device may set: a bit per [`Setting`](tenfold_abi::program::Setting).
    pub settings: u32,
}

impl Program {
    /// The number of an expression, which is written once.
    ///
    /// ```
    /// use tenfold_abi::program::{Node, Operation};
    ///
    /// let mut program = tenfold_core::program::Program::default();
    /// let (rows, two) = (program.node(Node::Dim(0)), program.node(Node::Const(2)));
    /// let half = program.node(Node::Of(Operation::FloorDiv, rows, two));
    /// assert_eq!((half, program.node(Node::Dim(0))), (2, rows));
    /// ```
    pub fn node(&mut self, node: Node) -> u32 {
        let at = self.nodes.iter().position(|it| *it == node);
        at.unwrap_or_else(|| {
            self.nodes.push(node);
            self.nodes.len() - 1
        }) as u32
    }

    /// Counts constants as `order` lists them, among which are its own; of those that it does not read there are 0 bytes.
    pub(crate) fn count_constants(&mut self, order: &[&str]) {
        let place = |hash: &str| order.iter().position(|other| *other == hash).unwrap_or(order.len()) as u32;
        for buffer in &mut self.buffers {
            if let Place::Constant(at) = &mut buffer.place
                && let Some(constant) = self.constants.get(*at as usize)
            {
                *at = place(&constant.hash);
            }
        }
        let own = |hash: &str| self.constants.iter().find(|own| own.hash == hash).map_or(0, |own| own.bytes);
        self.constants = order.iter().map(|hash| Constant { hash: (*hash).into(), bytes: own(hash) }).collect();
    }

    /// The bytes that a blob carries.
    ///
    /// # Errors
    /// More of something than 32 bits count.
    pub fn write(&self) -> Result<Vec<u8>, CompileError> {
        let (mut names, mut code, mut kernels) = (Vec::new(), Vec::new(), Vec::new());
        for (kernel, instead) in self.codes() {
            let name = place(&mut names, kernel.name.as_bytes())?;
            let code = place(&mut code, &kernel.code)?;
            let instead = instead.map_or(Ok(0), |at| count(at + 1))?;
            let Code { local, subgroup, features, settings, .. } = *kernel;
            kernels.push(Kernel { name, code, local, subgroup, features, instead, settings }.encode());
        }
        let mut out = self.counts(&names, &code, kernels.len())?.encode().to_vec();
        part(&mut out, &encoded(&self.nodes, |node| node.encode()));
        part(&mut out, &encoded(&self.buffers, |buffer| buffer.encode()));
        part(&mut out, &encoded(&self.constants, |constant| u128::from(constant.bytes).to_le_bytes()));
        part(&mut out, kernels.as_flattened());
        part(&mut out, &encoded(&self.steps, |step| step.encode()));
        part(&mut out, &encoded(&self.args, |arg| arg.encode()));
        part(&mut out, &encoded(&self.maps, |map| map.encode()));
        part(&mut out, &names);
        part(&mut out, &code);
        Ok(out)
    }

    /// The kernels as they are numbered, each with the number of the one that may take its place: those behind all that
    /// are launched.
    fn codes(&self) -> Vec<(&Code, Option<usize>)> {
        let mut all: Vec<(&Code, Option<usize>)> = self.kernels.iter().map(|kernel| (kernel, None)).collect();
        let mut at = 0;
        while at < all.len() {
            if let Some(instead) = &all[at].0.instead {
                all[at].1 = Some(all.len());
                all.push((instead, None));
            }
            at += 1;
        }
        all
    }

    fn counts(&self, names: &[u8], code: &[u8], kernels: usize) -> Result<Counts, CompileError> {
        let Self { dims, params, results, scalars, workspace, .. } = *self;
        Ok(Counts {
            dims,
            params,
            results,
            scalars,
            workspace,
            nodes: count(self.nodes.len())?,
            buffers: count(self.buffers.len())?,
            constants: count(self.constants.len())?,
            kernels: count(kernels)?,
            steps: count(self.steps.len())?,
            args: count(self.args.len())?,
            maps: count(self.maps.len())?,
            names: count(names.len())?,
            code: count(code.len())?,
        })
    }
}

/// Puts bytes behind the others at a multiple of 16, and says where they are.
fn place(all: &mut Vec<u8>, bytes: &[u8]) -> Result<(u32, u32), CompileError> {
    let place = (count(all.len())?, count(bytes.len())?);
    part(all, bytes);
    Ok(place)
}

/// Puts a part behind the others, up to a multiple of 16.
fn part(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend(bytes);
    out.resize(out.len().next_multiple_of(16), 0);
}

fn encoded<T, const BYTES: usize>(records: &[T], encode: impl Fn(&T) -> [u8; BYTES]) -> Vec<u8> {
    records.iter().flat_map(encode).collect()
}

fn count(len: usize) -> Result<u32, CompileError> {
    u32::try_from(len).map_err(|_| CompileError::internal(Loc::default(), "a program for a device is too large"))
}
