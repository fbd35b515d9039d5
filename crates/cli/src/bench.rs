//! `ferric bench`

use ::bench::Effort;

/// Measure the codecs, the RIC and its memory.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    which: Which,
}

#[derive(clap::Subcommand)]
enum Which {
    /// The codecs, the RIC as a relay against a program that only moves the same bytes, and the memory of idle nodes.
    /// Takes a little more than a minute.
    E2 {
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
        /// Repetitions of each row of the relay's table; the median is given.
        #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=99))]
        repetitions: u16,
        /// Seconds of each repetition, from 0.1 to 60.
        #[arg(long, value_name = "S", default_value_t = 2.0, value_parser = seconds)]
        seconds: f64,
    },
    /// The mover that the relay is measured against.
    #[command(hide = true)]
    Mover,
}

/// Reads the length of a repetition.
fn seconds(text: &str) -> Result<f64, &'static str> {
    let seconds = text.parse().ok().filter(|seconds| (0.1..=60.0).contains(seconds));
    seconds.ok_or("not a number from 0.1 to 60")
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    match args.which {
        Which::E2 { json, repetitions, seconds } => {
            let report = ::bench::e2(Effort { repetitions: repetitions.into(), seconds, ..Effort::default() })?;
            if json {
                say!("{}", report.json());
            } else {
                say!("{}", report.to_string().trim_end());
            }
            Ok(())
        }
        Which::Mover => ::bench::mover(),
    }
}
