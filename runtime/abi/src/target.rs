//! The devices that a function can be compiled for beside the processor: what `targets(…)` names, and what its code is
//! found by in a blob.

/// A device by its names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceTarget {
    /// The name as it is kept and shown.
    pub name: &'static str,
    /// The key of its module in a blob, which is also the short name.
    pub key: &'static str,
    /// What that is.
    pub about: &'static str,
}

/// Every device that a function can be compiled for.
pub const DEVICE_TARGETS: [DeviceTarget; 3] = [
    DeviceTarget { name: "nvptx -mcpu=sm_80", key: "nvptx:sm_80", about: "NVIDIA's GPUs from sm_80 on" },
    DeviceTarget { name: "nvptx -mcpu=sm_90a", key: "nvptx:sm_90a", about: "NVIDIA's GPUs of sm_90" },
    DeviceTarget { name: "spirv -vulkan=1.1", key: "spirv", about: "GPUs through Vulkan" },
];

impl DeviceTarget {
    /// The device of a text, which is its name or its short name.
    ///
    /// ```
    /// use tenfold_abi::DeviceTarget;
    ///
    /// let found = DeviceTarget::from_text("nvptx  -mcpu=sm_90a").map(|device| device.key);
    /// assert_eq!(found, Some("nvptx:sm_90a"));
    /// assert_eq!(DeviceTarget::from_text("spirv").map(|device| device.name), Some("spirv -vulkan=1.1"));
    /// assert_eq!(DeviceTarget::from_text("nvptx"), None);
    /// ```
    #[must_use]
    pub fn from_text(text: &str) -> Option<&'static Self> {
        let is = |name: &str| text.split_whitespace().eq(name.split_whitespace());
        DEVICE_TARGETS.iter().find(|device| is(device.name) || is(device.key))
    }
}
