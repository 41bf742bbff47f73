//! Devices: what kernels are compiled for beside the processor that calls them.

use std::fmt;

use tenfold_abi::{DEVICE_TARGETS, DeviceTarget};

use super::Target;

/// A device that kernels are compiled for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Device {
    /// PTX for GPUs of NVIDIA's from compute capability 8.0 on.
    Sm80,
    /// PTX for GPUs of NVIDIA's of compute capability 9.0, with what they alone have.
    Sm90a,
    /// SPIR-V for Vulkan 1.1.
    Spirv,
}

/// A row of the table: what a device is found by, and what LLVM is told of it.
struct Row {
    key: &'static str,
    triple: &'static str,
    /// The chip, as LLVM spells it.
    cpu: &'static str,
    /// What LLVM is told besides: the version of PTX, of which one that is too old for the chip ends the process.
    features: &'static [&'static str],
}

impl Device {
    /// Every device.
    pub const ALL: [Device; 3] = [Device::Sm80, Device::Sm90a, Device::Spirv];

    /// The device of a text, such as `spirv -vulkan=1.1`, `spirv` or `nvptx:sm_80`.
    ///
    /// ```
    /// use tenfold_core::target::Device;
    ///
    /// assert_eq!(Device::from_text("spirv"), Ok(Device::Spirv));
    /// assert_eq!(Device::from_text("nvptx:sm_90a"), Ok(Device::Sm90a));
    /// assert_eq!(Device::Spirv.to_string(), "spirv -vulkan=1.1");
    /// assert!(Device::from_text("spirv -vulkan=0.9").unwrap_err().contains("`spirv -vulkan=1.1`"));
    /// ```
    ///
    /// # Errors
    /// A text that is no device's, with those that are.
    pub fn from_text(text: &str) -> Result<Device, String> {
        let named = DeviceTarget::from_text(text);
        let found = named.and_then(|named| Device::ALL.into_iter().find(|device| device.key() == named.key));
        found.ok_or_else(|| {
            let known: Vec<String> = DEVICE_TARGETS.iter().map(|device| format!("`{}`", device.name)).collect();
            format!("`{text}` is no device that kernels are compiled for; there are {}", known.join(", "))
        })
    }

    /// The target with which its kernels are compiled.
    pub fn target(self) -> Target {
        let row = self.row();
        let target = Target::from_triple(row.triple, row.features);
        Target { device: Some(self), cpu: row.cpu.into(), ..target }
    }

    /// Whether its kernels are PTX, which LLVM writes.
    pub fn is_ptx(self) -> bool {
        match self {
            Device::Sm80 | Device::Sm90a => true,
            Device::Spirv => false,
        }
    }

    /// How many multiprocessors the largest GPU of its chip has, whose warps multiply matrices; nothing where they do not,
    /// or nobody knows.
    pub fn multiprocessors(self) -> Option<i64> {
        match self {
            Device::Sm80 => Some(108),
            Device::Sm90a => Some(132),
            Device::Spirv => None,
        }
    }

    /// Bytes of a row that a group keeps in shared memory, on each GPU that takes its kernels: what they have beyond 48 KiB
    /// but for the words of sums. None where that is no more than registers hold.
    pub fn row_bytes(self) -> i64 {
        match self {
            // 99 KiB of capability 8.6, 227 KiB of 9.0.
            Device::Sm80 => 96 << 10,
            Device::Sm90a => 224 << 10,
            Device::Spirv => 0,
        }
    }

    /// Bytes that the threads of a group share, at most, on each GPU that takes its kernels: Vulkan asks 16 KiB of every
    /// device.
    pub fn shared_bytes(self) -> i64 {
        match self {
            Device::Sm80 | Device::Sm90a => self.row_bytes(),
            Device::Spirv => 16 << 10,
        }
    }

    /// Whether four warps of a group multiply matrices together.
    pub fn has_warpgroups(self) -> bool {
        match self {
            Device::Sm90a => true,
            Device::Sm80 | Device::Spirv => false,
        }
    }

    /// The key of its module in a blob.
    pub fn key(self) -> &'static str {
        self.row().key
    }

    pub(super) fn of_triple(triple: &str) -> Option<Device> {
        Device::ALL.into_iter().find(|device| device.row().triple == triple)
    }

    fn row(self) -> Row {
        match self {
            Device::Sm80 => Row { key: "nvptx:sm_80", triple: NVPTX, cpu: "sm_80", features: &["ptx70"] },
            Device::Sm90a => Row { key: "nvptx:sm_90a", triple: NVPTX, cpu: "sm_90a", features: &["ptx80"] },
            Device::Spirv => Row { key: "spirv", triple: "spirv-unknown-vulkan1.1", cpu: "", features: &[] },
        }
    }
}

impl From<Device> for Target {
    fn from(device: Device) -> Target {
        device.target()
    }
}

const NVPTX: &str = "nvptx64-nvidia-cuda";

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = DEVICE_TARGETS.iter().find(|named| named.key == self.key());
        f.write_str(named.map_or(self.key(), |named| named.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_devices_are_those_that_can_be_named() {
        let named: Vec<&str> = DEVICE_TARGETS.iter().map(|device| device.key).collect();
        assert_eq!(Device::ALL.map(Device::key).to_vec(), named);
        for device in Device::ALL {
            assert_eq!(Device::from_text(&device.to_string()), Ok(device));
            assert_eq!(Device::from_text(device.key()), Ok(device));
            assert_eq!(device.target().device, Some(device));
        }
    }

    #[test]
    fn a_chip_is_part_of_the_target() {
        let target = Device::Sm90a.target();
        assert_eq!(target.to_string(), "nvptx64-nvidia-cuda -mcpu=sm_90a -mattr=ptx80");
        assert_eq!((target.pointer_bits, target.little_endian), (64, true));
    }
}
