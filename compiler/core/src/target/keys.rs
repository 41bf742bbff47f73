//! Keys: which rules of default schedules a target has.

use std::fmt;

use super::Target;

/// A group of rules of default schedules.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Key {
    /// Those that every target has: loops as they were lowered, and on devices a thread a turn.
    Generic,
    /// Those for processors with vectors and caches.
    Cpu,
    /// Those for microcontrollers that add several products at once.
    Dsp,
    /// Those for groups of threads that share memory.
    Gpu,
    /// Those for accesses of 16 bytes a thread.
    Cuda,
    /// Those for warps that multiply matrices.
    TensorCore,
}

impl Key {
    /// Every key.
    pub const ALL: [Key; 6] = [Key::Generic, Key::Cpu, Key::Dsp, Key::Gpu, Key::Cuda, Key::TensorCore];

    /// Its name in the text of a target.
    pub fn name(self) -> &'static str {
        match self {
            Key::Generic => "generic",
            Key::Cpu => "cpu",
            Key::Dsp => "dsp",
            Key::Gpu => "gpu",
            Key::Cuda => "cuda",
            Key::TensorCore => "tensorcore",
        }
    }

    /// The key of a name.
    ///
    /// # Errors
    /// There is none of that name; the text names those that there are.
    ///
    /// ```
    /// use tenfold_core::target::Key;
    ///
    /// assert_eq!(Key::from_name("gpu"), Ok(Key::Gpu));
    /// assert!(Key::from_name("vulkan").unwrap_err().contains("`generic`, `cpu`, `dsp`, `gpu`"));
    /// ```
    pub fn from_name(name: &str) -> Result<Key, String> {
        let found = Key::ALL.into_iter().find(|key| key.name() == name);
        found.ok_or_else(|| format!("there is no key `{name}`; the keys are {}", listed(&Key::ALL)))
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Target {
    /// Whether rules of a key apply: it has the key, and nobody has chosen others.
    pub fn has_key(&self, key: Key) -> bool {
        let chosen = self.keys.is_empty() || self.keys.contains(&key);
        key == Key::Generic || (chosen && self.own_keys().contains(&key))
    }

    /// The target with the rules of these keys alone, and those of [`Key::Generic`]; with its own where there are none.
    ///
    /// # Errors
    /// The target has no rules of such a key.
    pub fn with_keys(&self, keys: &[Key]) -> Result<Target, String> {
        let own = self.own_keys();
        if let Some(key) = keys.iter().find(|key| !own.contains(key)) {
            return Err(format!("`{self}` has no rules of the key `{key}`; its keys are {}", listed(own)));
        }
        Ok(Target { keys: keys.to_vec(), ..self.clone() })
    }

    /// The keys that it has while nobody chooses.
    fn own_keys(&self) -> &'static [Key] {
        match self.device {
            Some(device) if device.is_ptx() => &[Key::Generic, Key::Gpu, Key::Cuda, Key::TensorCore],
            Some(_) => &[Key::Generic, Key::Gpu],
            None if self.adds_products() => &[Key::Generic, Key::Dsp],
            None if self.vector_bytes() > 0 && self.hosted => &[Key::Generic, Key::Cpu],
            None => &[Key::Generic],
        }
    }
}

fn listed(keys: &[Key]) -> String {
    keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::Device;

    fn keys(target: &Target) -> String {
        let all = Key::ALL.into_iter().filter(|key| target.has_key(*key));
        all.map(Key::name).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn keys_follow_from_the_target() {
        assert_eq!(keys(&Target::from_triple("x86_64-unknown-linux-gnu", &[])), "generic cpu");
        assert_eq!(keys(&Target::from_triple("x86_64-unknown-none", &[])), "generic");
        assert_eq!(keys(&Target::from_triple("thumbv7em-none-eabihf", &["dsp"])), "generic dsp");
        assert_eq!(keys(&Target::from_triple("riscv64gc-unknown-linux-gnu", &[])), "generic");
        assert_eq!(keys(&Device::Spirv.target()), "generic gpu");
        assert_eq!(keys(&Device::Sm90a.target()), "generic gpu cuda tensorcore");
    }

    #[test]
    fn chosen_keys_are_the_targets_own() {
        let chosen = |keys: &[Key]| Device::Sm80.target().with_keys(keys);
        let target = chosen(&[Key::Gpu]).expect("one of its keys");
        assert_eq!(keys(&target), "generic gpu");
        assert_eq!(target.to_string(), "nvptx64-nvidia-cuda -mcpu=sm_80 -mattr=ptx70 -keys=gpu");
        assert_eq!(chosen(&[Key::Generic]).as_ref().map(keys).as_deref(), Ok("generic"));
        assert_eq!(chosen(&[]), Ok(Device::Sm80.target()));
        let text = "`nvptx64-nvidia-cuda -mcpu=sm_80 -mattr=ptx70` has no rules of the key `cpu`; its keys are `generic`, \
                    `gpu`, `cuda`, `tensorcore`";
        assert_eq!(chosen(&[Key::Cpu]), Err(text.into()));
    }
}
