//! GPUs by name, with what their makers say: the most that each does, never all at once. Estimates rest on it alone.

use super::Device;

/// A GPU.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Gpu {
    /// The name by which it is asked for.
    pub name: &'static str,
    /// The name that its maker gives it.
    pub title: &'static str,
    /// The devices for which kernels are estimated on it.
    devices: &'static [Device],
    /// Operations of a second on `f32`, half of them in fused multiplications.
    pub flops: f64,
    /// Operations of a second in products of `f16` and `bf16` that warps make, on GPUs of NVIDIA's.
    pub matrices: Option<f64>,
    /// Bytes of a second from and to its memory.
    pub bandwidth: f64,
}

/// A GPU that takes shaders alone; operations are lanes times the clock that it reaches, twice.
const fn of_vulkan(name: &'static str, title: &'static str, flops: f64, bandwidth: f64) -> Gpu {
    Gpu { name, title, devices: &[Device::Spirv], flops, matrices: None, bandwidth }
}

/// In the order of their names.
pub const GPUS: &[Gpu] = &[
    Gpu {
        name: "a100",
        title: "A100 (SXM, 80 GB)",
        devices: &[Device::Sm80, Device::Spirv],
        flops: 19.5e12,
        matrices: Some(312e12),
        bandwidth: 2.039e12,
    },
    of_vulkan("arc-a770", "Arc A770 (16 GB)", 19.7e12, 560e9),
    Gpu {
        name: "h100",
        title: "H100 (SXM)",
        devices: &[Device::Sm80, Device::Sm90a, Device::Spirv],
        flops: 66.9e12,
        matrices: Some(989.4e12),
        bandwidth: 3.35e12,
    },
    of_vulkan("jetson-orin-nano", "Jetson Orin Nano (8 GB)", 1.28e12, 68e9),
    of_vulkan("m1", "Apple M1 (8 cores)", 2.6e12, 68.3e9),
    of_vulkan("rtx-3060", "GeForce RTX 3060 (12 GB)", 12.7e12, 360e9),
    of_vulkan("rtx-4090", "GeForce RTX 4090", 82.6e12, 1.008e12),
    of_vulkan("rx-7900-xtx", "Radeon RX 7900 XTX", 61.4e12, 960e9),
    of_vulkan("steam-deck", "Steam Deck", 1.6e12, 88e9),
];

impl Device {
    /// The largest GPU of its chip; nothing where it may be any GPU.
    pub fn gpu(self) -> Option<&'static Gpu> {
        let name = match self {
            Device::Sm80 => "a100",
            Device::Sm90a => "h100",
            Device::Spirv => return None,
        };
        GPUS.iter().find(|gpu| gpu.name == name)
    }

    /// The GPUs for which its kernels can be estimated.
    pub fn gpus(self) -> impl Iterator<Item = &'static Gpu> {
        GPUS.iter().filter(move |gpu| gpu.devices.contains(&self))
    }

    /// One of them by its name.
    ///
    /// ```
    /// use tenfold_core::target::Device;
    ///
    /// assert_eq!(Device::Spirv.gpu_of_name("rtx-4090").unwrap().title, "GeForce RTX 4090");
    /// assert!(Device::Sm90a.gpu_of_name("rtx-4090").unwrap_err().ends_with("there is `h100`"));
    /// ```
    ///
    /// # Errors
    /// Another name, with those that there are.
    pub fn gpu_of_name(self, name: &str) -> Result<&'static Gpu, String> {
        self.gpus().find(|gpu| gpu.name == name).ok_or_else(|| {
            let names = self.gpu_names();
            let are = if names.contains(',') { "are" } else { "is" };
            format!("`{name}` is no GPU that kernels for `{self}` are estimated for; there {are} {names}")
        })
    }

    /// Their names in words.
    pub fn gpu_names(self) -> String {
        self.gpus().map(|gpu| format!("`{}`", gpu.name)).collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_order_and_figures_of_a_gpu() {
        assert!(GPUS.is_sorted_by(|a, b| a.name < b.name));
        for gpu in GPUS {
            let is_of_ptx = gpu.devices.iter().any(|device| device.is_ptx());
            assert_eq!(is_of_ptx, gpu.matrices.is_some(), "{}", gpu.name);
            assert!((1e12..1e14).contains(&gpu.flops) && (6e10..4e12).contains(&gpu.bandwidth), "{}", gpu.name);
        }
    }

    #[test]
    fn every_device_has_gpus() {
        for device in Device::ALL {
            assert!(device.gpus().count() > 0, "{device}");
            assert!(device.gpu().is_none_or(|largest| device.gpu_of_name(largest.name) == Ok(largest)), "{device}");
        }
    }
}
