//! Devices: what kernels are compiled for beside the processor that calls them.

use std::fmt;

use super::Target;

/// A device that kernels are compiled for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Device {
    /// Vulkan 1.1.
    Spirv,
}

/// A row of the table: names of a device in a text, the triple of its target.
struct Row {
    device: Device,
    /// The key of its module in a blob.
    key: &'static str,
    /// As it is written out, then shorter ones.
    texts: &'static [&'static str],
    triple: &'static str,
}

const ROWS: &[Row] = &[Row {
    device: Device::Spirv,
    key: "spirv",
    texts: &["spirv -vulkan=1.1", "spirv"],
    triple: "spirv-unknown-vulkan1.1",
}];

impl Device {
    /// Every device.
    pub const ALL: [Device; 1] = [Device::Spirv];

    /// The device of a text, such as `spirv -vulkan=1.1` or `spirv`.
    ///
    /// ```
    /// use tenfold_core::target::Device;
    ///
    /// assert_eq!(Device::from_text("spirv"), Ok(Device::Spirv));
    /// assert_eq!(Device::Spirv.to_string(), "spirv -vulkan=1.1");
    /// assert!(Device::from_text("spirv -vulkan=0.9").unwrap_err().contains("`spirv -vulkan=1.1`"));
    /// ```
    ///
    /// # Errors
    /// A text that is no device's, with those that are.
    pub fn from_text(text: &str) -> Result<Device, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let text = words.join(" ");
        let found = ROWS.iter().find(|row| row.texts.contains(&text.as_str())).map(|row| row.device);
        found.ok_or_else(|| {
            let known: Vec<String> = ROWS.iter().map(|row| format!("`{}`", row.texts[0])).collect();
            format!("`{text}` is no device that kernels are compiled for; there is {}", known.join(", "))
        })
    }

    /// The target with which its kernels are compiled.
    pub fn target(self) -> Target {
        Target::from_triple(self.row().triple, &[])
    }

    /// The key of its module in a blob.
    pub(crate) fn key(self) -> &'static str {
        self.row().key
    }

    pub(super) fn of_triple(triple: &str) -> Option<Device> {
        ROWS.iter().find(|row| row.triple == triple).map(|row| row.device)
    }

    fn row(self) -> &'static Row {
        match self {
            Device::Spirv => &ROWS[0],
        }
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.row().texts[0])
    }
}
