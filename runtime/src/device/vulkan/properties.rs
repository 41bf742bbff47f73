//! What a device can do, in the terms of programs, and how much of it.

use std::{
    ffi::{CStr, c_char},
    vec::Vec,
};

use ash::vk;
use tenfold_abi::program::Feature;

use super::instance::Instance;

/// What a device allows at most.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Groups along x, y and z.
    pub(super) groups: [u32; 3],
    /// Threads of a group along x, y and z.
    pub(super) threads: [u32; 3],
    /// Threads of a group.
    pub(super) group: u32,
    /// Bytes of values that a kernel is given.
    pub(super) values: u32,
    /// Bytes of a buffer that a kernel sees.
    pub(super) range: u64,
    /// Bytes of one piece of memory.
    pub(super) allocation: u64,
    /// Buffers of a kernel.
    pub(super) buffers: u32,
    /// Threads of a subgroup.
    pub(super) subgroup: u32,
    /// Subgroups of a group, where subgroups that are full and have so many threads can be asked for; else 0.
    pub(super) subgroups: u32,
}

/// Extensions of which programs gain something, and the version of Vulkan that has what they bring.
const EXTENSIONS: [(&CStr, u32); 3] = [(BYTES, vk::API_VERSION_1_2), (DOT, VERSION_1_3), (SIZES, VERSION_1_3)];

const BYTES: &CStr = vk::KHR_8BIT_STORAGE_NAME;
const DOT: &CStr = vk::KHR_SHADER_INTEGER_DOT_PRODUCT_NAME;
const SIZES: &CStr = vk::EXT_SUBGROUP_SIZE_CONTROL_NAME;
const VERSION_1_3: u32 = vk::API_VERSION_1_3;

/// What is switched on when a device is opened.
#[derive(Default)]
pub(super) struct Switches {
    /// Extensions that are enabled: those that the device has of newer versions.
    extensions: Vec<&'static CStr>,
    core: vk::PhysicalDeviceFeatures,
    bytes: Option<vk::PhysicalDevice8BitStorageFeatures<'static>>,
    halves: vk::PhysicalDevice16BitStorageFeatures<'static>,
    v12: Option<vk::PhysicalDeviceVulkan12Features<'static>>,
    dot: Option<vk::PhysicalDeviceShaderIntegerDotProductFeatures<'static>>,
    sizes: Option<vk::PhysicalDeviceSubgroupSizeControlFeatures<'static>>,
}

impl Switches {
    /// All that programs may ask for and the device has.
    pub(super) fn of(instance: &Instance, device: vk::PhysicalDevice, version: u32) -> Self {
        let extensions = extensions(instance, device, version);
        let has = |name| match EXTENSIONS.iter().find(|(known, _)| *known == name) {
            Some((_, since)) => version >= *since || extensions.contains(&name),
            None => false,
        };
        let (has_bytes, has_dot, has_sizes) = (extensions.contains(&BYTES), has(DOT), has(SIZES));
        let mut halves = vk::PhysicalDevice16BitStorageFeatures::default();
        let mut bytes = vk::PhysicalDevice8BitStorageFeatures::default();
        let mut v12 = vk::PhysicalDeviceVulkan12Features::default();
        let mut dot = vk::PhysicalDeviceShaderIntegerDotProductFeatures::default();
        let mut sizes = vk::PhysicalDeviceSubgroupSizeControlFeatures::default();
        let mut all = vk::PhysicalDeviceFeatures2::default().push_next(&mut halves);
        if version >= vk::API_VERSION_1_2 {
            all = all.push_next(&mut v12);
        }
        if has_bytes {
            all = all.push_next(&mut bytes);
        }
        if has_dot {
            all = all.push_next(&mut dot);
        }
        if has_sizes {
            all = all.push_next(&mut sizes);
        }
        // SAFETY: the device is the instance's, and the chain lives until the call is over.
        unsafe { instance.raw.get_physical_device_features2(device, &mut all) };
        let has = all.features;
        let core = vk::PhysicalDeviceFeatures::default()
            .shader_float64(has.shader_float64 != 0)
            .shader_int64(has.shader_int64 != 0)
            .shader_int16(has.shader_int16 != 0);
        let halves = vk::PhysicalDevice16BitStorageFeatures::default()
            .storage_buffer16_bit_access(halves.storage_buffer16_bit_access != 0);
        let bytes = vk::PhysicalDevice8BitStorageFeatures::default()
            .storage_buffer8_bit_access(bytes.storage_buffer8_bit_access != 0);
        let v12 = vk::PhysicalDeviceVulkan12Features::default()
            .storage_buffer8_bit_access(v12.storage_buffer8_bit_access != 0)
            .shader_float16(v12.shader_float16 != 0)
            .shader_int8(v12.shader_int8 != 0)
            .vulkan_memory_model(v12.vulkan_memory_model != 0);
        let dot = vk::PhysicalDeviceShaderIntegerDotProductFeatures::default()
            .shader_integer_dot_product(dot.shader_integer_dot_product != 0);
        let sizes = vk::PhysicalDeviceSubgroupSizeControlFeatures::default()
            .subgroup_size_control(sizes.subgroup_size_control != 0)
            .compute_full_subgroups(sizes.compute_full_subgroups != 0);
        Self {
            extensions,
            core,
            bytes: has_bytes.then_some(bytes),
            halves,
            v12: (version >= vk::API_VERSION_1_2).then_some(v12),
            dot: has_dot.then_some(dot),
            sizes: has_sizes.then_some(sizes),
        }
    }

    /// Calls `open` with the extensions and the chain that switch them on.
    pub(super) fn with<R>(
        &mut self,
        open: impl FnOnce(&[*const c_char], &mut vk::PhysicalDeviceFeatures2<'_>) -> R,
    ) -> R {
        let extensions: Vec<*const c_char> = self.extensions.iter().map(|name| name.as_ptr()).collect();
        let mut all = vk::PhysicalDeviceFeatures2::default().features(self.core).push_next(&mut self.halves);
        if let Some(bytes) = &mut self.bytes {
            all = all.push_next(bytes);
        }
        if let Some(v12) = &mut self.v12 {
            all = all.push_next(v12);
        }
        if let Some(dot) = &mut self.dot {
            all = all.push_next(dot);
        }
        if let Some(sizes) = &mut self.sizes {
            all = all.push_next(sizes);
        }
        open(&extensions, &mut all)
    }

    /// Whether shaders of kernels may ask for full subgroups of a size.
    fn asks_for_sizes(&self, properties: &vk::PhysicalDeviceSubgroupSizeControlProperties<'_>) -> bool {
        let both = |it: vk::PhysicalDeviceSubgroupSizeControlFeatures<'_>| {
            it.subgroup_size_control != 0 && it.compute_full_subgroups != 0
        };
        let of_kernels = properties.required_subgroup_size_stages.contains(vk::ShaderStageFlags::COMPUTE);
        of_kernels && self.sizes.is_some_and(both)
    }

    fn features(&self) -> impl Iterator<Item = Feature> {
        let v12 = self.v12.unwrap_or_default();
        let (dot, bytes) = (self.dot.unwrap_or_default(), self.bytes.unwrap_or_default());
        let has = [
            (Feature::F64, self.core.shader_float64),
            (Feature::I64, self.core.shader_int64),
            (Feature::I16, self.core.shader_int16),
            (Feature::Storage16, self.halves.storage_buffer16_bit_access),
            (Feature::Storage8, v12.storage_buffer8_bit_access | bytes.storage_buffer8_bit_access),
            (Feature::F16, v12.shader_float16),
            (Feature::I8, v12.shader_int8),
            (Feature::MemoryModel, v12.vulkan_memory_model),
            (Feature::Dot8, dot.shader_integer_dot_product),
        ];
        has.into_iter().filter(|(_, has)| *has != 0).map(|(feature, _)| feature)
    }
}

/// The extensions among [`EXTENSIONS`] that a device has and its version does not.
fn extensions(instance: &Instance, device: vk::PhysicalDevice, version: u32) -> Vec<&'static CStr> {
    // SAFETY: the device is the instance's.
    let there = unsafe { instance.raw.enumerate_device_extension_properties(device) }.unwrap_or_default();
    let has = |name: &CStr| there.iter().any(|it| it.extension_name_as_c_str() == Ok(name));
    EXTENSIONS.into_iter().filter(|(name, since)| version < *since && has(name)).map(|(name, _)| name).collect()
}

/// The limits of a device, and a bit for each feature that it has with these switches.
pub(super) fn query(instance: &Instance, device: vk::PhysicalDevice, switches: &Switches) -> (Limits, u64) {
    let mut subgroup = vk::PhysicalDeviceSubgroupProperties::default();
    let mut memory = vk::PhysicalDeviceMaintenance3Properties::default();
    let mut floats = vk::PhysicalDeviceFloatControlsProperties::default();
    let mut sizes = vk::PhysicalDeviceSubgroupSizeControlProperties::default();
    let mut all = vk::PhysicalDeviceProperties2::default().push_next(&mut subgroup).push_next(&mut memory);
    if switches.v12.is_some() {
        all = all.push_next(&mut floats);
    }
    if switches.sizes.is_some() {
        all = all.push_next(&mut sizes);
    }
    // SAFETY: the device is the instance's, and the chain lives until the call is over.
    unsafe { instance.raw.get_physical_device_properties2(device, &mut all) };
    let limits = all.properties.limits;
    let limits = Limits {
        groups: limits.max_compute_work_group_count,
        threads: limits.max_compute_work_group_size,
        group: limits.max_compute_work_group_invocations,
        values: limits.max_push_constants_size,
        range: u64::from(limits.max_storage_buffer_range),
        allocation: memory.max_memory_allocation_size,
        buffers: limits.max_per_stage_descriptor_storage_buffers.min(limits.max_descriptor_set_storage_buffers),
        subgroup: subgroup.subgroup_size,
        subgroups: if switches.asks_for_sizes(&sizes) { sizes.max_compute_workgroup_subgroups } else { 0 },
    };
    let bits = switches.features().chain(subgroups(&subgroup)).chain(controls(&floats));
    (limits, bits.fold(0, |bits, feature| bits | feature.bit()))
}

fn subgroups(has: &vk::PhysicalDeviceSubgroupProperties<'_>) -> impl Iterator<Item = Feature> + use<> {
    let (compute, has) = (has.supported_stages.contains(vk::ShaderStageFlags::COMPUTE), has.supported_operations);
    let known = [
        (Feature::Subgroup, vk::SubgroupFeatureFlags::BASIC),
        (Feature::SubgroupArithmetic, vk::SubgroupFeatureFlags::ARITHMETIC),
        (Feature::SubgroupShuffle, vk::SubgroupFeatureFlags::SHUFFLE),
        (Feature::SubgroupVote, vk::SubgroupFeatureFlags::VOTE),
    ];
    known.into_iter().filter(move |(_, flag)| compute && has.contains(*flag)).map(|(feature, _)| feature)
}

fn controls(has: &vk::PhysicalDeviceFloatControlsProperties<'_>) -> impl Iterator<Item = Feature> + use<> {
    let known = [
        (Feature::DenormF32, has.shader_denorm_preserve_float32),
        (Feature::SpecialF32, has.shader_signed_zero_inf_nan_preserve_float32),
        (Feature::RoundF32, has.shader_rounding_mode_rte_float32),
        (Feature::DenormF16, has.shader_denorm_preserve_float16),
        (Feature::SpecialF16, has.shader_signed_zero_inf_nan_preserve_float16),
        (Feature::RoundF16, has.shader_rounding_mode_rte_float16),
        (Feature::DenormF64, has.shader_denorm_preserve_float64),
        (Feature::SpecialF64, has.shader_signed_zero_inf_nan_preserve_float64),
        (Feature::RoundF64, has.shader_rounding_mode_rte_float64),
    ];
    known.into_iter().filter(|(_, has)| *has != 0).map(|(feature, _)| feature)
}
