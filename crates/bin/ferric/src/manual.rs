//! `ferric completion` and `ferric man`: what the command line is, for shells and for `man`.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Command;
use clap_complete::Shell;

use crate::external;

/// Print a completion script for a shell
///
/// bash: `source <(ferric completion bash)`, or write it to ~/.local/share/bash-completion/completions/ferric. zsh: write it to a
/// file `_ferric` in a folder of $fpath. fish: write it to ~/.config/fish/completions/ferric.fish.
#[derive(clap::Args)]
pub struct CompletionArgs {
    /// The shell.
    #[arg(value_name = "SHELL")]
    shell: ShellName,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum ShellName {
    Bash,
    Zsh,
    Fish,
}

/// Write a manual page for each command
///
/// The pages are those of `--help`: ferric.1, ferric-ric.1, ferric-xapp-kpm.1, … `man -l DIR/ferric.1` shows one; in a folder
/// man1 of $MANPATH, `man ferric-ric` finds it.
#[derive(clap::Args)]
pub struct ManArgs {
    /// Folder for the pages. It is made if it does not exist; pages of the same names are replaced.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// Prints the script, which also completes the names of the programs that `ferric NAME` runs now.
pub fn print_completion(command: Command, args: &CompletionArgs) -> anyhow::Result<()> {
    // names of clap live as long as the program
    let names = external::names().into_iter().map(|name| &*name.leak());
    let mut command = names.fold(command, |command, name: &str| command.subcommand(Command::new(name)));
    let shell = match args.shell {
        ShellName::Bash => Shell::Bash,
        ShellName::Zsh => Shell::Zsh,
        ShellName::Fish => Shell::Fish,
    };
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "ferric", &mut script);
    program::outln!("{}", String::from_utf8(script).context("the script is not UTF-8")?.trim_end());
    Ok(())
}

pub fn write_pages(command: Command, args: &ManArgs) -> anyhow::Result<()> {
    let folder: &Path = &args.folder;
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    clap_mangen::generate_to(command, folder)
        .with_context(|| format!("cannot write the manual pages to {}", folder.display()))?;
    program::outln!("wrote the manual pages to {0}; `man -l {0}/ferric.1` shows the first", folder.display());
    Ok(())
}
