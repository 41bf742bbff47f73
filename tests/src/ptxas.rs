//! NVIDIA's assembler, which says whether PTX is such as its drivers take, without a GPU.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::tools;

/// What the assembler says of a kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Registers of a thread.
    pub registers: u32,
    /// Bytes of a thread's frame in memory.
    pub frame: u32,
    /// Bytes that registers are spilled to.
    pub spills: u32,
    /// Bytes that a group shares.
    pub shared: u32,
}

/// Where the assembler is.
pub fn path() -> Option<&'static PathBuf> {
    static PATH: OnceLock<Option<PathBuf>> = OnceLock::new();
    PATH.get_or_init(|| {
        let folder = std::env::var_os("TENFOLD_PTXAS_FOLDER").map(PathBuf::from);
        let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache/tenfold-ptxas"));
        let own = folder.or(home).map(|folder| folder.join("ptxas"));
        [Some(PathBuf::from("ptxas")), own].into_iter().flatten().find(|path| tools::has(path))
    })
    .as_ref()
}

/// Says that a test is skipped where there is no assembler.
pub fn skip() {
    tools::skip("ptxas", "tests/ptxas.sh installs it");
}

/// Assembles PTX of one kernel for a chip.
///
/// # Errors
/// What the assembler says.
pub fn assemble(text: &str, chip: &str) -> Result<Usage, String> {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let ptxas = path().ok_or("there is no ptxas")?;
    let folder = std::env::temp_dir().join("tenfold-ptxas");
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let file = folder.join(format!("{}-{number}.ptx", std::process::id()));
    std::fs::write(&file, text).map_err(|error| error.to_string())?;
    let output = Command::new(ptxas).args(["-v", "-arch", chip, "-o", "/dev/null"]).arg(&file).output();
    let _ = std::fs::remove_file(&file);
    let output = output.map_err(|error| format!("ptxas does not start: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    // Products of warpgroups that wait for one another without need: the assembler takes them, and warns.
    let whole = output.status.success() && !said.contains("serialized");
    if whole { Ok(usage(&said)) } else { Err(format!("ptxas for {chip}: {}", said.trim())) }
}

/// `0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads`, `Used 10 registers, used 1 barriers, 256 bytes smem`.
fn usage(said: &str) -> Usage {
    let before = |what: &str| {
        let at = said.find(what)?;
        let number = said[..at].trim_end().rsplit(|c: char| !c.is_ascii_digit()).next()?;
        number.parse().ok()
    };
    let of = |what| before(what).unwrap_or_default();
    Usage {
        registers: of(" registers"),
        frame: of(" bytes stack frame"),
        spills: of(" bytes spill stores"),
        shared: of(" bytes smem"),
    }
}

#[cfg(test)]
mod tests {
    use super::{Usage, usage};

    #[test]
    fn what_is_used_is_read() {
        let said = "ptxas info    : Function properties for k\n    8 bytes stack frame, 16 bytes spill stores, 16 bytes \
                    spill loads\nptxas info    : Used 30 registers, used 1 barriers, 8 bytes cumulative stack size, \
                    256 bytes smem, 380 bytes cmem[0]\n";
        assert_eq!(usage(said), Usage { registers: 30, frame: 8, spills: 16, shared: 256 });
    }
}
