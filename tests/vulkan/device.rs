//! A Vulkan device for tests: one kernel, its buffers and values, one call.
//!
//! It takes the first device and turns on every feature that the device has and a kernel may ask for.
#![allow(unsafe_code, reason = "calls what the back end compiled")]

use std::collections::BTreeSet;
use std::ffi::CString;

use ash::vk;
use tenfold_abi::program::Feature;
use tenfold_core::spirv::{CONTROLS, Kernel};

/// A device and its queue.
pub(crate) struct Device {
    _entry: ash::Entry,
    instance: ash::Instance,
    device: ash::Device,
    queue: vk::Queue,
    family: u32,
    memory: u32,
    /// What it promises of float arithmetic.
    floats: BTreeSet<Feature>,
}

struct Buffer {
    buffer: vk::Buffer,
    memory: vk::DeviceMemory,
    bytes: *mut u8,
    len: usize,
}

fn named<T>(what: &str, result: Result<T, vk::Result>) -> Result<T, String> {
    result.map_err(|e| format!("{what}: {e}"))
}

/// What a device promises of float arithmetic; before Vulkan 1.2 that is not known.
fn floats(instance: &ash::Instance, physical: vk::PhysicalDevice) -> BTreeSet<Feature> {
    let mut has = vk::PhysicalDeviceVulkan12Properties::default();
    // SAFETY: the device is the instance's, and what it fills in is of the version that it has.
    unsafe {
        if instance.get_physical_device_properties(physical).api_version < vk::API_VERSION_1_2 {
            return BTreeSet::new();
        }
        let mut properties = vk::PhysicalDeviceProperties2::default().push_next(&mut has);
        instance.get_physical_device_properties2(physical, &mut properties);
    }
    let all = [
        (Feature::DenormF32, has.shader_denorm_preserve_float32),
        (Feature::DenormF64, has.shader_denorm_preserve_float64),
        (Feature::SpecialF32, has.shader_signed_zero_inf_nan_preserve_float32),
        (Feature::SpecialF64, has.shader_signed_zero_inf_nan_preserve_float64),
    ];
    all.into_iter().filter(|(_, has)| *has != vk::FALSE).map(|(feature, _)| feature).collect()
}

impl Device {
    /// The first device, if there are a loader and a device.
    pub(crate) fn first() -> Result<Device, String> {
        // SAFETY: handles are used while their parents live, and this struct keeps the parents.
        unsafe {
            let entry = ash::Entry::load().map_err(|e| e.to_string())?;
            let about = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_3);
            let of = vk::InstanceCreateInfo::default().application_info(&about);
            let instance = named("instance", entry.create_instance(&of, None))?;
            let found = named("devices", instance.enumerate_physical_devices())?;
            let physical = *found.first().ok_or("no device")?;
            let families = instance.get_physical_device_queue_family_properties(physical);
            let family = families.iter().position(|f| f.queue_flags.contains(vk::QueueFlags::COMPUTE));
            let family = family.ok_or("no queue for compute")? as u32;
            let (mut f11, mut f12) =
                (vk::PhysicalDeviceVulkan11Features::default(), vk::PhysicalDeviceVulkan12Features::default());
            let mut f13 = vk::PhysicalDeviceVulkan13Features::default();
            let mut features = vk::PhysicalDeviceFeatures2::default().push_next(&mut f11).push_next(&mut f12);
            if instance.get_physical_device_properties(physical).api_version >= vk::API_VERSION_1_3 {
                features = features.push_next(&mut f13);
            }
            instance.get_physical_device_features2(physical, &mut features);
            let queues = [vk::DeviceQueueCreateInfo::default().queue_family_index(family).queue_priorities(&[1.0])];
            let of = vk::DeviceCreateInfo::default().queue_create_infos(&queues).push_next(&mut features);
            let device = named("device", instance.create_device(physical, &of, None))?;
            let queue = device.get_device_queue(family, 0);
            let types = instance.get_physical_device_memory_properties(physical);
            let wanted = vk::MemoryPropertyFlags::HOST_VISIBLE | vk::MemoryPropertyFlags::HOST_COHERENT;
            let fits = |n: &u32| types.memory_types[*n as usize].property_flags.contains(wanted);
            let memory = (0..types.memory_type_count).find(fits).ok_or("no memory that the host sees")?;
            let floats = floats(&instance, physical);
            Ok(Device { _entry: entry, instance, device, queue, family, memory, floats })
        }
    }

    /// Whether it promises what a kernel asks of float arithmetic.
    pub(crate) fn promises(&self, kernel: &Kernel) -> bool {
        let asked = CONTROLS.iter().map(|control| control.feature()).filter(|it| kernel.features.contains(it));
        asked.collect::<BTreeSet<_>>().is_subset(&self.floats)
    }

    /// Runs a kernel once; what each binding holds is read before and written back.
    pub(crate) fn run(
        &self,
        kernel: &Kernel,
        bindings: &mut [Vec<u8>],
        push: &[u8],
        groups: [u32; 3],
    ) -> Result<(), String> {
        let buffers = bindings.iter().map(|bytes| self.buffer(bytes)).collect::<Result<Vec<_>, _>>()?;
        let result = self.dispatch(kernel, &buffers, push, groups);
        for (bytes, buffer) in bindings.iter_mut().zip(buffers) {
            // SAFETY: the mapping has this length, and the queue is idle.
            unsafe {
                bytes.copy_from_slice(std::slice::from_raw_parts(buffer.bytes, buffer.len));
                self.device.destroy_buffer(buffer.buffer, None);
                self.device.free_memory(buffer.memory, None);
            }
        }
        result
    }

    fn buffer(&self, bytes: &[u8]) -> Result<Buffer, String> {
        let device = &self.device;
        // SAFETY: the memory is bound once, mapped whole, and written within its length.
        unsafe {
            let size = bytes.len().max(16) as u64;
            let of = vk::BufferCreateInfo::default().size(size).usage(vk::BufferUsageFlags::STORAGE_BUFFER);
            let buffer = named("buffer", device.create_buffer(&of, None))?;
            let needs = device.get_buffer_memory_requirements(buffer);
            let of = vk::MemoryAllocateInfo::default().allocation_size(needs.size).memory_type_index(self.memory);
            let memory = named("memory", device.allocate_memory(&of, None))?;
            named("binding", device.bind_buffer_memory(buffer, memory, 0))?;
            let mapped = named("map", device.map_memory(memory, 0, needs.size, vk::MemoryMapFlags::empty()))?;
            let mapped = mapped.cast::<u8>();
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), mapped, bytes.len());
            Ok(Buffer { buffer, memory, bytes: mapped, len: bytes.len() })
        }
    }

    fn dispatch(&self, kernel: &Kernel, buffers: &[Buffer], push: &[u8], groups: [u32; 3]) -> Result<(), String> {
        let device = &self.device;
        // SAFETY: everything made here is destroyed here, after the queue is idle; the shader was validated.
        unsafe {
            let of = vk::ShaderModuleCreateInfo::default().code(&kernel.words);
            let module = named("shader", device.create_shader_module(&of, None))?;
            let bindings: Vec<vk::DescriptorSetLayoutBinding<'_>> = (0..buffers.len() as u32)
                .map(|n| {
                    vk::DescriptorSetLayoutBinding::default()
                        .binding(n)
                        .descriptor_type(vk::DescriptorType::STORAGE_BUFFER)
                        .descriptor_count(1)
                        .stage_flags(vk::ShaderStageFlags::COMPUTE)
                })
                .collect();
            let of = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
            let sets = [named("layout of bindings", device.create_descriptor_set_layout(&of, None))?];
            let compute = vk::ShaderStageFlags::COMPUTE;
            let ranges = [vk::PushConstantRange::default().stage_flags(compute).size(push.len() as u32)];
            let ranges = if push.is_empty() { &ranges[..0] } else { &ranges[..] };
            let of = vk::PipelineLayoutCreateInfo::default().set_layouts(&sets).push_constant_ranges(ranges);
            let layout = named("layout", device.create_pipeline_layout(&of, None))?;
            let name = CString::new("main").map_err(|e| e.to_string())?;
            let stage = vk::PipelineShaderStageCreateInfo::default().stage(compute).module(module).name(&name);
            let of = [vk::ComputePipelineCreateInfo::default().stage(stage).layout(layout)];
            let made = device.create_compute_pipelines(vk::PipelineCache::null(), &of, None);
            let pipeline = *made.map_err(|(_, e)| format!("pipeline: {e}"))?.first().ok_or("no pipeline")?;
            let sizes = [vk::DescriptorPoolSize::default()
                .ty(vk::DescriptorType::STORAGE_BUFFER)
                .descriptor_count(buffers.len() as u32)];
            let of = vk::DescriptorPoolCreateInfo::default().max_sets(1).pool_sizes(&sizes);
            let pool = named("pool", device.create_descriptor_pool(&of, None))?;
            let of = vk::DescriptorSetAllocateInfo::default().descriptor_pool(pool).set_layouts(&sets);
            let set = named("set", device.allocate_descriptor_sets(&of))?;
            let infos: Vec<[vk::DescriptorBufferInfo; 1]> = buffers
                .iter()
                .map(|b| [vk::DescriptorBufferInfo::default().buffer(b.buffer).range(vk::WHOLE_SIZE)])
                .collect();
            let writes: Vec<vk::WriteDescriptorSet<'_>> = (0..)
                .zip(&infos)
                .map(|(n, info)| {
                    vk::WriteDescriptorSet::default()
                        .dst_set(set[0])
                        .dst_binding(n)
                        .descriptor_type(vk::DescriptorType::STORAGE_BUFFER)
                        .buffer_info(info)
                })
                .collect();
            device.update_descriptor_sets(&writes, &[]);
            let of = vk::CommandPoolCreateInfo::default().queue_family_index(self.family);
            let commands = named("command pool", device.create_command_pool(&of, None))?;
            let of = vk::CommandBufferAllocateInfo::default().command_pool(commands).command_buffer_count(1);
            let command = named("command buffer", device.allocate_command_buffers(&of))?;
            let one = command[0];
            named("begin", device.begin_command_buffer(one, &vk::CommandBufferBeginInfo::default()))?;
            device.cmd_bind_pipeline(one, vk::PipelineBindPoint::COMPUTE, pipeline);
            device.cmd_bind_descriptor_sets(one, vk::PipelineBindPoint::COMPUTE, layout, 0, &set, &[]);
            if !push.is_empty() {
                device.cmd_push_constants(one, layout, compute, 0, push);
            }
            device.cmd_dispatch(one, groups[0], groups[1], groups[2]);
            named("end", device.end_command_buffer(one))?;
            let submits = [vk::SubmitInfo::default().command_buffers(&command)];
            named("submit", device.queue_submit(self.queue, &submits, vk::Fence::null()))?;
            let done = named("wait", device.queue_wait_idle(self.queue));
            device.destroy_command_pool(commands, None);
            device.destroy_descriptor_pool(pool, None);
            device.destroy_pipeline(pipeline, None);
            device.destroy_pipeline_layout(layout, None);
            device.destroy_descriptor_set_layout(sets[0], None);
            device.destroy_shader_module(module, None);
            done
        }
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        // SAFETY: nothing of the device is left, since each run destroys what it makes.
        unsafe {
            self.device.destroy_device(None);
            self.instance.destroy_instance(None);
        }
    }
}
