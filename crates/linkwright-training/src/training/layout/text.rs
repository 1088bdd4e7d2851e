//! Reads layouts: `dp=8,fsdp=4,tp=8`.

use super::{MOST_RANKS, ModelLayout};
use crate::diagnostic::{Diagnosis, instead_of, shown};
use crate::training::error::TrainingError;

/// Says what may be divided, by the names of the field.
const NAMES: [&str; 8] = ["dp", "fsdp", "tp", "pp", "vp", "cp", "ep", "etp"];
/// Says what frameworks call the same.
const ELSEWHERE: &[(&str, &str)] = &[
    ("data", "dp"),
    ("ddp", "dp"),
    ("dp_replicate", "dp"),
    ("dp_shard", "fsdp"),
    ("zero", "fsdp"),
    ("tensor", "tp"),
    ("pipeline", "pp"),
    ("virtual", "vp"),
    ("context", "cp"),
    ("expert", "ep"),
    ("expert_tensor", "etp"),
];

impl ModelLayout {
    /// Reads a layout from its text; parts that are left out are one.
    ///
    /// # Errors
    /// A name that there is not or twice, and a part that is no whole number from one.
    pub fn read(text: &str) -> Result<Self, TrainingError> {
        let refuse = |problem: String, remedy: String| {
            TrainingError::ModelLayout(Diagnosis::of(problem).remedy(remedy))
        };
        let mut layout = Self::default();
        let mut seen: Vec<&str> = Vec::new();
        for part in text.split(',') {
            let Some((name, count)) = part.split_once('=') else {
                let problem = format!("`{}` is no part of a layout", shown(part.trim()));
                return Err(refuse(problem, "write a name and a number, as tp=8,pp=4".to_owned()));
            };
            let (name, count) = (name.trim(), count.trim());
            let Some(known) = NAMES.into_iter().find(|known| *known == name) else {
                let problem = format!("a layout has no part `{}`", shown(name));
                let meant = ELSEWHERE.iter().find(|(other, _)| *other == name);
                let meant = meant.map(|(_, meant)| format!("did you mean `{meant}`? "));
                let remedy = match meant {
                    Some(meant) => format!("{meant}use one of {}", NAMES.join(", ")),
                    None => instead_of(name, &NAMES),
                };
                return Err(refuse(problem, remedy));
            };
            if seen.contains(&known) {
                let problem = format!("the layout says `{known}` twice");
                return Err(refuse(problem, "say it once".to_owned()));
            }
            seen.push(known);
            let number = count.parse().ok().filter(|number| (1..=MOST_RANKS).contains(number));
            let Some(number) = number else {
                let problem = format!("`{known}={}` is no number of parts", shown(count));
                let remedy = format!("write a whole number from 1 to {MOST_RANKS}");
                return Err(refuse(problem, remedy));
            };
            layout.set(known, number);
        }
        if layout.gpus() > MOST_RANKS {
            let problem = format!("the layout has {} GPUs", layout.gpus());
            return Err(refuse(problem, format!("keep to {MOST_RANKS}")));
        }
        Ok(layout)
    }

    fn set(&mut self, name: &str, count: u64) {
        let place = match name {
            "dp" => &mut self.dp,
            "fsdp" => &mut self.fsdp,
            "tp" => &mut self.tp,
            "pp" => &mut self.pp,
            "vp" => &mut self.vp,
            "cp" => &mut self.cp,
            "ep" => &mut self.ep,
            _ => self.etp.insert(count),
        };
        *place = count;
    }
}
