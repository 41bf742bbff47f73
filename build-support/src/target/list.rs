//! What a whole build is for: a processor, and devices beside it.

use super::{Target, TargetError};

/// The targets that stand in one text or several, with `;` between them.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Targets {
    /// The processor that calls, as far as it is not what cargo builds for.
    pub(crate) processor: Option<Target>,
    /// The devices, none of them twice.
    pub(crate) devices: Vec<Target>,
}

impl Targets {
    /// Reads them.
    pub(crate) fn read<'a>(texts: impl IntoIterator<Item = &'a str>) -> Result<Self, TargetError> {
        let mut all = Self::default();
        for text in texts.into_iter().flat_map(|text| text.split(';')).map(str::trim).filter(|text| *text != CPU) {
            all.add(text.parse()?)?;
        }
        Ok(all)
    }

    fn add(&mut self, target: Target) -> Result<(), TargetError> {
        let same = |known: &&Target| known.kind == target.kind && known.cpu == target.cpu;
        let known = match target.kind.is_device() {
            true => self.devices.iter().find(same),
            false => self.processor.as_ref(),
        };
        match known {
            Some(known) => {
                Err(TargetError(format!("`{known}` and `{target}` are for one and the same: leave one out")))
            }
            None if target.kind.is_device() => {
                self.devices.push(target);
                Ok(())
            }
            None => {
                self.processor = Some(target);
                Ok(())
            }
        }
    }
}

/// What cargo builds for, as attributes name it.
const CPU: &str = tenfold_syntax::ast::CPU;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_processor_and_each_device_once() {
        let read = |texts: &[&str]| Targets::read(texts.iter().copied()).map_err(|error| error.to_string());
        let (llvm, spirv) = (Target::llvm().cpu("cortex-m4"), Target::spirv());
        let all = Targets { processor: Some(llvm), devices: vec![spirv.clone(), Target::nvptx("sm_80")] };
        assert_eq!(read(&["spirv; llvm -mcpu=cortex-m4", "nvptx:sm_80"]), Ok(all));
        assert_eq!(read(&["cpu; spirv"]), Ok(Targets { processor: None, devices: vec![spirv] }));
        let text = "`spirv` and `spirv -keys=generic` are for one and the same: leave one out";
        assert_eq!(read(&["spirv", "spirv -keys=generic"]), Err(text.into()));
        assert_eq!(read(&["llvm;c"]), Err("`llvm` and `c` are for one and the same: leave one out".into()));
        assert_eq!(
            read(&["spirv;"]),
            Err("a target begins with `llvm`, `c`, `nvptx`, `spirv` or the name of a board".into())
        );
    }
}
