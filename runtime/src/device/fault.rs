//! What can go wrong on a device.

use core::fmt;

use crate::{blob::BlobError, program::ProgramError};

/// Why a device does not do what it is asked for.
///
/// ```
/// use tenfold::{DeviceFault, DeviceKind, Error};
///
/// let why = DeviceFault::Launch { kernel: "scale", grid: [70_000, 1, 1], block: [64, 1, 1], limit: "groups along x" };
/// assert_eq!(
///     Error::Device { kind: DeviceKind::Vulkan, why }.to_string(),
///     "vulkan: `scale` cannot start with 70000 x 1 x 1 groups of 64 x 1 x 1 threads: the device allows fewer groups along x",
/// );
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DeviceFault {
    /// There is no driver on this machine, or none that answers.
    NoDriver {
        /// What was looked for.
        what: &'static str,
    },
    /// The driver is older than what is needed.
    OldDriver {
        /// What it lacks.
        lacks: &'static str,
    },
    /// The driver knows no device, or none that was asked for.
    NoDevice,
    /// The device is lost: it was taken away, or its driver has given up. Its tensors are gone.
    Lost,
    /// The device has no memory left.
    OutOfMemory {
        /// How many bytes were asked for.
        bytes: u64,
    },
    /// A tensor lies in the memory of another device.
    OtherDevice,
    /// A tensor of another library's begins where kernels cannot use it.
    Misaligned {
        /// Where it begins.
        address: u64,
    },
    /// The device does not measure time.
    NoTimer,
    /// The device cannot do what a kernel needs.
    Unsupported {
        /// The kernel.
        kernel: &'static str,
        /// What it needs.
        feature: &'static str,
    },
    /// A kernel cannot start.
    Launch {
        /// The kernel.
        kernel: &'static str,
        /// Groups along x, y and z.
        grid: [i64; 3],
        /// Threads of a group along x, y and z.
        block: [u32; 3],
        /// What the device allows fewer of.
        limit: &'static str,
    },
    /// The driver does not start a kernel.
    Start {
        /// The kernel.
        kernel: &'static str,
        /// Groups along x, y and z.
        grid: [i64; 3],
        /// Threads of a group along x, y and z.
        block: [u32; 3],
        /// The driver's own number.
        code: i32,
    },
    /// The driver refuses a kernel.
    Kernel {
        /// The kernel.
        kernel: &'static str,
        /// Threads of a group along x, y and z.
        block: [u32; 3],
        /// The driver's own number.
        code: i32,
        /// What the driver says beside it; empty where it says nothing.
        said: &'static str,
    },
    /// A call of the driver failed.
    Driver {
        /// The call.
        call: &'static str,
        /// The driver's own number.
        code: i32,
    },
    /// The function was compiled for no device of this kind.
    NoCode,
    /// What was compiled for the device is damaged.
    Blob(BlobError),
    /// What was compiled for the device is damaged, or too large for these extents.
    Program(ProgramError),
    /// The operands of the call are not those of the program.
    Operands,
}

impl DeviceFault {
    /// Whether the device refuses a function before it does anything, and works on.
    pub(crate) fn is_refusal(&self) -> bool {
        match self {
            Self::NoCode | Self::Unsupported { .. } | Self::Launch { .. } | Self::Kernel { .. } => true,
            Self::NoDriver { .. }
            | Self::OldDriver { .. }
            | Self::NoDevice
            | Self::Lost
            | Self::OutOfMemory { .. }
            | Self::OtherDevice
            | Self::Misaligned { .. }
            | Self::NoTimer
            | Self::Start { .. }
            | Self::Driver { .. }
            | Self::Blob(_)
            | Self::Program(_)
            | Self::Operands => false,
        }
    }
}

impl fmt::Display for DeviceFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let x3 = |n: [u32; 3]| n.map(i64::from);
        match *self {
            Self::NoDriver { what } => write!(f, "there is no driver on this machine: {what}"),
            Self::OldDriver { lacks } => write!(f, "the driver is too old: it lacks {lacks}"),
            Self::NoDevice => f.write_str("the driver knows no such device"),
            Self::Lost => f.write_str("the device is lost, and its tensors with it; open it again"),
            Self::OutOfMemory { bytes } => write!(f, "the device has no memory left for {bytes} bytes"),
            Self::OtherDevice => f.write_str("the tensor lies in the memory of another device"),
            Self::Misaligned { address } => write!(f, "the tensor begins at {address:#x}, which is no multiple of 16"),
            Self::NoTimer => f.write_str("the device does not measure time"),
            Self::Unsupported { kernel, feature } => write!(f, "`{kernel}` needs {feature}, which the device lacks"),
            Self::Launch { kernel, grid, block, limit } => {
                write!(f, "`{kernel}` cannot start with {} groups of {} threads: ", Sides(grid), Sides(x3(block)))?;
                write!(f, "the device allows fewer {limit}")
            }
            Self::Start { kernel, grid, block, code } => {
                let (grid, block) = (Sides(grid), Sides(x3(block)));
                write!(f, "the driver does not start `{kernel}` with {grid} groups of {block} threads (error {code})")
            }
            Self::Kernel { kernel, block, code, said } => {
                write!(f, "the driver refuses `{kernel}` with groups of {} threads (error {code})", Sides(x3(block)))?;
                if said.is_empty() { Ok(()) } else { write!(f, ": {said}") }
            }
            Self::Driver { call, code } => write!(f, "`{call}` failed (error {code})"),
            Self::NoCode => {
                f.write_str("the function was not compiled for it; `targets(…)` of `#[tensor_fn]` says what for")
            }
            Self::Blob(why) => fmt::Display::fmt(&why, f),
            Self::Program(why) => fmt::Display::fmt(&why, f),
            Self::Operands => f.write_str("the operands of the call are not those of the program"),
        }
    }
}

/// Extents along x, y and z.
struct Sides([i64; 3]);

impl fmt::Display for Sides {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.0;
        write!(f, "{x} x {y} x {z}")
    }
}
