//! Devices among the targets that the environment names: commands that compile for processors alone say so, where
//! without a word they would leave the devices out.

use tenfold_build::look;

use crate::{Outcome, output};

/// What such a command comes to; nothing where no device is named.
pub(crate) fn refused(command: &str) -> Option<Outcome> {
    let devices: Vec<String> = look::devices().into_iter().map(|device| format!("`{device}`")).collect();
    if devices.is_empty() {
        return None;
    }
    let text = std::env::var(look::TARGET).unwrap_or_default();
    output::complain(&format!(
        "`{}={text}`: `{command}` is for processors alone; leave {} out",
        look::TARGET,
        devices.join(" and ")
    ));
    Some(Outcome::Bad)
}
