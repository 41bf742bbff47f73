//! Targets as a build script names them: a text or a value, which add up to what cargo builds for.

mod boards;
mod list;

use boards::BOARDS;
pub(crate) use list::Targets;
use std::fmt;
use std::str::FromStr;
use tenfold_core::spirv::CONTROLS;
use tenfold_core::{CPUS, Cpu, Device, Key};
use tenfold_ir::ops::nearest;

/// The variable, under which the build script's choice stands among its settings too.
pub(crate) const VARIABLE: &str = "TENFOLD_TARGET";

/// What the environment says of targets.
pub(crate) fn of_environment() -> Option<String> {
    std::env::var(VARIABLE).ok().filter(|text| !text.is_empty())
}

/// What makes the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// LLVM.
    Llvm,
    /// A C compiler.
    C,
    /// LLVM, for GPUs of NVIDIA's beside the processor.
    Nvptx,
    /// Shaders for Vulkan, beside the processor's code.
    Spirv,
}

impl Kind {
    const ALL: [Self; 4] = [Self::Llvm, Self::C, Self::Nvptx, Self::Spirv];

    fn name(self) -> &'static str {
        match self {
            Self::Llvm => "llvm",
            Self::C => "c",
            Self::Nvptx => "nvptx",
            Self::Spirv => "spirv",
        }
    }

    /// Whether it is for devices.
    fn is_device(self) -> bool {
        match self {
            Self::Nvptx | Self::Spirv => true,
            Self::Llvm | Self::C => false,
        }
    }

    /// The options that its texts have.
    fn options(self) -> &'static [&'static str] {
        match self {
            Self::Llvm => &["-mtriple", "-mcpu", "-mattr", "-keys"],
            Self::C => &["-mtriple", "-keys"],
            Self::Nvptx => &["-mcpu", "-keys"],
            Self::Spirv => &["-vulkan", "-mattr", "-keys"],
        }
    }
}

/// What code is made for, as far as it is not what cargo builds for.
///
/// A text has a kind, `llvm`, `c`, `nvptx` or `spirv`, and options as LLVM's tools have them; or the name of a board. `nvptx`
/// and `spirv` are devices, for which functions are compiled beside the processor that calls them.
///
/// ```
/// use tenfold_build::Target;
///
/// let target: Target = "llvm -mtriple=thumbv7em-none-eabihf -mcpu=cortex-m4".parse()?;
/// assert_eq!(target, Target::llvm().triple("thumbv7em-none-eabihf").cpu("cortex-m4"));
/// assert_eq!(target, "st/nucleo-l4r5zi".parse()?);
/// assert_eq!(target.to_string(), "llvm -mtriple=thumbv7em-none-eabihf -mcpu=cortex-m4");
///
/// let target: Target = "nvptx:sm_90a -keys=gpu".parse()?;
/// assert_eq!(target, Target::nvptx("sm_90a").key("gpu"));
/// assert_eq!(target.to_string(), "nvptx -mcpu=sm_90a -keys=gpu");
///
/// let error = "llvm -mcpu=cortex-m5".parse::<Target>().unwrap_err();
/// assert_eq!(error.to_string(), "there is no processor `cortex-m5`; a similar name is `cortex-m0`");
/// # Ok::<(), tenfold_build::TargetError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    kind: Kind,
    triple: Option<String>,
    cpu: Option<String>,
    features: Vec<String>,
    keys: Vec<String>,
}

impl Target {
    /// Code by LLVM.
    #[must_use]
    pub fn llvm() -> Self {
        Self { kind: Kind::Llvm, triple: None, cpu: None, features: Vec::new(), keys: Vec::new() }
    }

    /// Code by the C compiler that the crate `cc` finds.
    #[must_use]
    pub fn c() -> Self {
        Self { kind: Kind::C, ..Self::llvm() }
    }

    /// Code for GPUs of NVIDIA's with that chip, `sm_80` or `sm_90a`.
    #[must_use]
    pub fn nvptx(chip: &str) -> Self {
        Self { kind: Kind::Nvptx, ..Self::llvm() }.cpu(chip)
    }

    /// Shaders for Vulkan 1.1.
    #[must_use]
    pub fn spirv() -> Self {
        Self { kind: Kind::Spirv, ..Self::llvm() }
    }

    /// For the target of that name, as rustc has it: `thumbv7em-none-eabihf`.
    #[must_use]
    pub fn triple(mut self, triple: &str) -> Self {
        self.triple = Some(triple.into());
        self
    }

    /// For that processor, as LLVM has it: `cortex-m4`.
    #[must_use]
    pub fn cpu(mut self, cpu: &str) -> Self {
        self.cpu = Some(cpu.into());
        self
    }

    /// With that feature, as rustc has it: `mve`.
    #[must_use]
    pub fn feature(mut self, feature: &str) -> Self {
        self.features.push(feature.into());
        self
    }

    /// With the default schedules of that key, and of others that are named so: `gpu`.
    #[must_use]
    pub fn key(mut self, key: &str) -> Self {
        self.keys.push(key.into());
        self
    }

    /// What makes the code.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The target's name, unless it is what cargo builds for.
    pub(crate) fn own_triple(&self) -> Option<&str> {
        self.triple.as_deref()
    }

    /// The processor, if it is named.
    pub(crate) fn own_cpu(&self) -> Option<&str> {
        self.cpu.as_deref()
    }

    /// The features that are switched on.
    pub(crate) fn own_features(&self) -> &[String] {
        &self.features
    }

    /// The keys that are chosen; a text that was read has none that there is not.
    pub(crate) fn own_keys(&self) -> Vec<Key> {
        self.keys.iter().filter_map(|name| Key::from_name(name).ok()).collect()
    }

    /// The device as the compiler knows it; none if it is a processor.
    pub(crate) fn device(&self) -> Result<Option<tenfold_core::Target>, TargetError> {
        if !self.kind.is_device() {
            return Ok(None);
        }
        let cpu = self.own_cpu().map(|cpu| format!(" -mcpu={cpu}")).unwrap_or_default();
        let device = Device::from_text(&format!("{}{cpu}", self.kind.name())).map_err(TargetError)?;
        let known = CONTROLS.iter().map(|control| control.name);
        if let Some(name) = self.features.iter().find(|name| known.clone().all(|known| known != *name)) {
            return Err(unknown("feature", name, known, &format!(" of `{}`", self.kind.name())));
        }
        let mut target = device.target();
        target.features.extend(self.features.iter().cloned());
        target.with_keys(&self.own_keys()).map(Some).map_err(TargetError)
    }

    /// Whether processor and features are those of a target of this name.
    pub(crate) fn check(&self, triple: &str) -> Result<(), TargetError> {
        let named = self.own_triple().filter(|_| self.kind == Kind::Llvm);
        if let Some(name) = named.filter(|name| !tenfold_llvm::known_targets().any(|known| known == *name)) {
            return Err(unknown("target", name, tenfold_llvm::known_targets(), " for `llvm`"));
        }
        let arch = tenfold_core::Target::from_triple(triple, &[]).arch;
        if let Some(name) = self.own_cpu() {
            let cpu = known_cpu(name)?;
            if !cpu.runs(triple) {
                let near: Vec<String> =
                    CPUS.iter().filter(|c| c.runs(triple)).map(|c| format!("`{}`", c.name)).collect();
                return Err(TargetError(format!(
                    "`{name}` is no processor of `{triple}`{}",
                    listed("; its are ", &near)
                )));
            }
        }
        let known = tenfold_llvm::known_features(arch);
        for feature in &self.features {
            if !known.contains(&feature.as_str()) {
                return Err(unknown("feature", feature, known.iter().copied(), &format!(" of `{triple}`")));
            }
        }
        Ok(())
    }
}

fn listed(before: &str, names: &[String]) -> String {
    if names.is_empty() { String::new() } else { format!("{before}{}", names.join(", ")) }
}

fn known_cpu(name: &str) -> Result<&'static Cpu, TargetError> {
    let found = CPUS.iter().find(|cpu| cpu.name == name);
    found.ok_or_else(|| unknown("processor", name, CPUS.iter().map(|cpu| cpu.name), ""))
}

fn unknown<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str> + Clone, of: &str) -> TargetError {
    let near = match nearest(name, known.clone()) {
        Some(near) => format!("; a similar name is `{near}`"),
        None => listed("; there are ", &known.map(|name| format!("`{name}`")).collect::<Vec<_>>()),
    };
    TargetError(format!("there is no {what} `{name}`{of}{near}"))
}

/// Why a text is no target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetError(String);

impl fmt::Display for TargetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TargetError {}

impl From<String> for TargetError {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl FromStr for Target {
    type Err = TargetError;

    fn from_str(text: &str) -> Result<Self, TargetError> {
        let mut words = text.split_whitespace();
        let first = words.next().unwrap_or_default();
        let mut target = match (Kind::ALL.into_iter().find(|kind| kind.name() == first), first.split_once(':')) {
            (Some(kind), _) => Self { kind, ..Self::llvm() },
            (None, Some(("nvptx", chip))) => Self::nvptx(chip),
            (None, _) => board(first)?,
        };
        words.try_for_each(|word| target.option(word))?;
        if target.kind == Kind::C && (target.cpu.is_some() || !target.features.is_empty()) {
            let text = "`c` takes no processor: the C compiler is told the target's name alone; `CFLAGS` tells it more";
            return Err(TargetError(text.into()));
        }
        target.keys.iter().try_for_each(|key| Key::from_name(key).map(drop).map_err(TargetError))?;
        if target.device()?.is_none()
            && let Some(cpu) = target.own_cpu()
        {
            known_cpu(cpu)?;
        }
        Ok(target)
    }
}

fn board(name: &str) -> Result<Target, TargetError> {
    match BOARDS.iter().find(|board| board.name == name) {
        Some(board) => Ok(Target::llvm().triple(board.triple).cpu(board.cpu)),
        None if name.is_empty() => {
            Err(TargetError("a target begins with `llvm`, `c`, `nvptx`, `spirv` or the name of a board".into()))
        }
        None => {
            let known = Kind::ALL.into_iter().map(Kind::name).chain(BOARDS.iter().map(|board| board.name));
            Err(unknown("kind of target or board", name, known, ""))
        }
    }
}

impl Target {
    fn option(&mut self, word: &str) -> Result<(), TargetError> {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        match name {
            _ if value.is_empty() => return Err(self.no_option(word)),
            "-keys" => self.keys.extend(value.split(',').map(String::from)),
            // other kinds are told what they take
            _ if self.kind.is_device() && !self.kind.options().contains(&name) => return Err(self.no_option(word)),
            "-vulkan" if self.kind == Kind::Spirv => {
                Device::from_text(&format!("{} {word}", self.kind.name())).map_err(TargetError)?;
            }
            "-mtriple" => self.triple = Some(value.into()),
            "-mcpu" => self.cpu = Some(value.into()),
            "-mattr" => {
                for feature in value.split(',') {
                    let Some(feature) = feature.strip_prefix('+') else {
                        let text = format!("`{feature}` in `{word}`: features are added, `-mattr=+dsp,+mve`");
                        return Err(TargetError(text));
                    };
                    self.features.push(feature.into());
                }
            }
            _ => return Err(unknown("option", name, self.kind.options().iter().copied(), "")),
        }
        Ok(())
    }

    fn no_option(&self, word: &str) -> TargetError {
        let options: Vec<String> = self.kind.options().iter().map(|name| format!("`{name}=…`")).collect();
        TargetError(format!("`{word}` is no option of `{}`{}", self.kind.name(), listed("; it has ", &options)))
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.name())?;
        if let Some(triple) = &self.triple {
            write!(f, " -mtriple={triple}")?;
        }
        if let Some(cpu) = &self.cpu {
            write!(f, " -mcpu={cpu}")?;
        }
        let mut features = self.features.iter();
        if let Some(first) = features.next() {
            write!(f, " -mattr=+{first}")?;
        }
        features.try_for_each(|feature| write!(f, ",+{feature}"))?;
        if !self.keys.is_empty() {
            write!(f, " -keys={}", self.keys.join(","))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_values_are_the_same() {
        let all = [
            "llvm",
            "c",
            "c -mtriple=avr-none",
            "llvm -mcpu=cortex-m55 -mattr=+dsp,+mve",
            "llvm -mtriple=riscv64gc-unknown-none-elf -mattr=+v",
            "c -keys=generic",
            "llvm -mattr=+v -keys=cpu,generic",
            "nvptx -mcpu=sm_80 -keys=gpu,cuda",
            "spirv",
            "spirv -mattr=+denorm-preserve-f32,+rounding-mode-rte-f64 -keys=gpu",
        ];
        for text in all {
            assert_eq!(text.parse::<Target>().map(|target| target.to_string()).as_deref(), Ok(text));
        }
    }

    #[test]
    fn boards_are_known_processors_of_their_targets() {
        assert!(BOARDS.is_sorted_by_key(|board| board.name));
        for board in BOARDS {
            let target: Target = board.name.parse().unwrap_or_else(|error| panic!("{}: {error}", board.name));
            assert_eq!(target.check(board.triple), Ok(()), "{}", board.name);
        }
    }

    #[test]
    fn what_is_wrong_is_told() {
        let cases = [
            ("", "a target begins with `llvm`, `c`, `nvptx`, `spirv` or the name of a board"),
            ("lvm", "there is no kind of target or board `lvm`; a similar name is `llvm`"),
            (
                "st/nucleo-h734zi",
                "there is no kind of target or board `st/nucleo-h734zi`; a similar name is `st/nucleo-h743zi`",
            ),
            ("llvm -mcpu", "`-mcpu` is no option of `llvm`; it has `-mtriple=…`, `-mcpu=…`, `-mattr=…`, `-keys=…`"),
            ("llvm -mcup=x", "there is no option `-mcup`; a similar name is `-mcpu`"),
            ("llvm -mattr=-mve", "`-mve` in `-mattr=-mve`: features are added, `-mattr=+dsp,+mve`"),
            ("llvm -mcpu=cortex-m44", "there is no processor `cortex-m44`; a similar name is `cortex-m4`"),
            (
                "c -mcpu=cortex-m4",
                "`c` takes no processor: the C compiler is told the target's name alone; `CFLAGS` tells it more",
            ),
        ];
        for (text, expected) in cases.into_iter().chain(OF_DEVICES) {
            assert_eq!(text.parse::<Target>().map_err(|error| error.to_string()), Err(expected.into()));
        }
        let check = |text: &str, triple: &str| text.parse::<Target>().and_then(|target| target.check(triple));
        let error = check("llvm -mcpu=sifive-e31", "riscv64gc-unknown-none-elf").map_err(|error| error.to_string());
        let text = "`sifive-e31` is no processor of `riscv64gc-unknown-none-elf`; its are `generic-rv64`, `sifive-u74`, \
                    `sifive-x280`, `spacemit-x60`";
        assert_eq!(error, Err(text.into()));
        // code that the processor does not run, or floats in registers that it does not have
        for (cpu, triple) in [
            ("cortex-a7", "thumbv7em-none-eabi"),
            ("cortex-m3", "thumbv7em-none-eabihf"),
            ("cortex-m0", "thumbv7m-none-eabi"),
            ("cortex-m7", "thumbv8m.main-none-eabihf"),
            ("cortex-m4", "armv7-unknown-linux-gnueabihf"),
        ] {
            let error = check(&format!("llvm -mcpu={cpu}"), triple).map_err(|error| error.to_string());
            let error = error.expect_err(triple);
            assert!(error.starts_with(&format!("`{cpu}` is no processor of `{triple}`; its are `cortex-")), "{error}");
            assert!(!error.contains(&format!("`{cpu}`,")), "{error}");
        }
        let error = check("llvm -mtriple=thumbv7em-none-eabihv", "thumbv7em-none-eabihv").map_err(|e| e.to_string());
        let text = "there is no target `thumbv7em-none-eabihv` for `llvm`; a similar name is `thumbv7em-none-eabihf`";
        assert_eq!(error, Err(text.into()));
        let error = check("llvm -mattr=+mvee", "thumbv8m.main-none-eabihf").map_err(|error| error.to_string());
        let text = "there is no feature `mvee` of `thumbv8m.main-none-eabihf`; a similar name is `mve`";
        assert_eq!(error, Err(text.into()));
    }

    const OF_DEVICES: [(&str, &str); 7] = [
        (
            "spirv -mattr=+denorm-preserve-f16",
            "there is no feature `denorm-preserve-f16` of `spirv`; a similar name is `denorm-preserve-f32`",
        ),
        (
            "nvptx:sm_75",
            "`nvptx -mcpu=sm_75` is no device that kernels are compiled for; there are `nvptx -mcpu=sm_80`, \
             `nvptx -mcpu=sm_90a`, `spirv -vulkan=1.1`",
        ),
        (
            "spirv -vulkan=1.0",
            "`spirv -vulkan=1.0` is no device that kernels are compiled for; there are `nvptx -mcpu=sm_80`, \
             `nvptx -mcpu=sm_90a`, `spirv -vulkan=1.1`",
        ),
        ("spirv -mcpu=gfx90a", "`-mcpu=gfx90a` is no option of `spirv`; it has `-vulkan=…`, `-mattr=…`, `-keys=…`"),
        ("nvptx:sm_80 -mtriple=x", "`-mtriple=x` is no option of `nvptx`; it has `-mcpu=…`, `-keys=…`"),
        (
            "spirv -keys=vulkan,gpu",
            "there is no key `vulkan`; the keys are `generic`, `cpu`, `dsp`, `gpu`, `cuda`, `tensorcore`",
        ),
        (
            "spirv -keys=tensorcore",
            "`spirv-unknown-vulkan1.1` has no rules of the key `tensorcore`; its keys are `generic`, `gpu`",
        ),
    ];
}
