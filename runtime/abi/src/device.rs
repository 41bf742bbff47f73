//! Kinds of devices and their codes.

use core::fmt;

/// Where code runs and memory lies. The codes are those of `DLPack`.
///
/// ```
/// use tenfold_abi::DeviceKind;
///
/// assert_eq!(DeviceKind::from_code(1), Some(DeviceKind::Cpu));
/// assert_eq!(DeviceKind::Vulkan.name(), "vulkan");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
#[non_exhaustive]
pub enum DeviceKind {
    /// The processor that calls.
    Cpu = 1,
    /// A GPU reached through CUDA.
    Cuda = 2,
    /// A GPU reached through Vulkan.
    Vulkan = 7,
}

impl DeviceKind {
    /// Every kind, in the order of their codes.
    pub const ALL: [Self; 3] = [Self::Cpu, Self::Cuda, Self::Vulkan];

    /// The code that stands in blobs.
    #[must_use]
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The kind of a code.
    #[must_use]
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.code() == code)
    }

    /// The name in messages and settings.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Cuda => "cuda",
            Self::Vulkan => "vulkan",
        }
    }
}

impl fmt::Display for DeviceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
