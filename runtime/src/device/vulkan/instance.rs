//! The loader, an instance of Vulkan, and the devices that it knows.

use std::{ffi::CStr, string::String, vec::Vec};

use ash::vk;

use super::shared::refused;
use crate::DeviceFault;

/// A device that Vulkan knows.
///
/// ```
/// use tenfold::Vulkan;
///
/// for device in Vulkan::devices().unwrap_or_default() {
///     println!("{}: {} ({}), {} MiB", device.index, device.name, device.kind, device.bytes >> 20);
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct VulkanInfo {
    /// Its number.
    pub index: usize,
    /// What its driver calls it.
    pub name: String,
    /// `discrete`, `integrated`, `virtual`, `cpu` or `other`.
    pub kind: &'static str,
    /// How much memory it has of its own, or shares with the processor.
    pub bytes: u64,
}

/// The best device: a GPU with memory of its own if there is one.
pub(super) fn best(devices: &[VulkanInfo]) -> Option<usize> {
    let rank = |kind: &str| ["discrete", "integrated", "virtual", "cpu", "other"].iter().position(|it| *it == kind);
    devices.iter().enumerate().min_by_key(|(_, device)| rank(device.kind)).map(|(at, _)| at)
}

/// The device of a number, a type or a part of a name.
pub(super) fn choose(devices: &[VulkanInfo], name: &str) -> Option<usize> {
    let name = name.trim().to_lowercase();
    if let Ok(index) = name.parse::<usize>() {
        return (index < devices.len()).then_some(index);
    }
    let kind = devices.iter().position(|device| device.kind == name);
    kind.or_else(|| devices.iter().position(|device| device.name.to_lowercase().contains(&name)))
}

/// An instance, which the loader outlives.
pub(super) struct Instance {
    pub(super) raw: ash::Instance,
    /// The version that both the loader and we know.
    pub(super) version: u32,
    _entry: ash::Entry,
}

impl Instance {
    /// Opens the loader and makes an instance.
    pub(super) fn new() -> Result<Self, DeviceFault> {
        let no_loader =
            DeviceFault::NoDriver { what: "the loader of Vulkan cannot be opened (on Linux libvulkan.so.1)" };
        // SAFETY: the library is the system's loader, whose start-up code runs in every program that uses Vulkan.
        let entry = unsafe { ash::Entry::load() }.map_err(|_| no_loader)?;
        // SAFETY: the entry was loaded.
        let version = unsafe { entry.try_enumerate_instance_version() }.ok().flatten().unwrap_or(vk::API_VERSION_1_0);
        let version = version.min(vk::API_VERSION_1_3);
        if version < vk::API_VERSION_1_1 {
            return Err(DeviceFault::OldDriver { lacks: "Vulkan 1.1" });
        }
        let application = vk::ApplicationInfo::default().api_version(version);
        let info = vk::InstanceCreateInfo::default().application_info(&application);
        // SAFETY: what `info` points to lives until the call is over.
        let raw = unsafe { entry.create_instance(&info, None) }.map_err(|code| match code {
            vk::Result::ERROR_INCOMPATIBLE_DRIVER => DeviceFault::NoDriver { what: "Vulkan's loader finds none" },
            code => refused("vkCreateInstance", code),
        })?;
        Ok(Self { raw, version, _entry: entry })
    }

    /// The devices and what is known of them.
    pub(super) fn devices(&self) -> Result<Vec<(vk::PhysicalDevice, VulkanInfo)>, DeviceFault> {
        // SAFETY: the instance lives.
        let devices = unsafe { self.raw.enumerate_physical_devices() }
            .map_err(|code| refused("vkEnumeratePhysicalDevices", code))?;
        let devices: Vec<_> =
            devices.into_iter().enumerate().map(|(index, raw)| (raw, self.info(index, raw))).collect();
        if devices.is_empty() { Err(DeviceFault::NoDevice) } else { Ok(devices) }
    }

    fn info(&self, index: usize, device: vk::PhysicalDevice) -> VulkanInfo {
        // SAFETY: the device is the instance's.
        let (properties, memory) = unsafe {
            (self.raw.get_physical_device_properties(device), self.raw.get_physical_device_memory_properties(device))
        };
        let kind = match properties.device_type {
            vk::PhysicalDeviceType::DISCRETE_GPU => "discrete",
            vk::PhysicalDeviceType::INTEGRATED_GPU => "integrated",
            vk::PhysicalDeviceType::VIRTUAL_GPU => "virtual",
            vk::PhysicalDeviceType::CPU => "cpu",
            _ => "other",
        };
        let own =
            memory.memory_heaps_as_slice().iter().filter(|heap| heap.flags.contains(vk::MemoryHeapFlags::DEVICE_LOCAL));
        let name = properties.device_name_as_c_str().map(CStr::to_string_lossy);
        VulkanInfo {
            index,
            name: name.map_or_else(|_| String::from("?"), |name| name.into_owned()),
            kind,
            bytes: own.map(|heap| heap.size).sum(),
        }
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // SAFETY: every device of the instance holds it, so none is left.
        unsafe { self.raw.destroy_instance(None) };
    }
}

#[cfg(test)]
mod tests {
    use super::{VulkanInfo, best, choose};

    fn devices() -> [VulkanInfo; 3] {
        let device = |index, name: &str, kind| VulkanInfo { index, name: name.into(), kind, bytes: 1 };
        [device(0, "llvmpipe", "cpu"), device(1, "Radeon 1", "discrete"), device(2, "Iris", "integrated")]
    }

    #[test]
    fn a_device_is_chosen_by_number_type_or_name() {
        let devices = devices();
        assert_eq!(best(&devices), Some(1));
        assert_eq!(best(&devices[..1]), Some(0));
        assert_eq!(best(&[]), None);
        for (name, at) in [("2", Some(2)), ("3", None), ("cpu", Some(0)), ("IRIS", Some(2)), ("radeon", Some(1))] {
            assert_eq!(choose(&devices, name), at, "{name}");
        }
        assert_eq!(choose(&devices, "geforce"), None);
    }
}
