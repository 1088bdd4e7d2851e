//! Whether a log is of the collective and the GPUs that it is set beside.

use super::asked::{Finding, Means, hosts_text, servers_option};
use super::log::{LogNote, NcclTestsLog, Row};
use crate::collectives::schedule::collective::Collective;
use crate::diagnostic::{InputError, Position};

/// Of what a log prints with two decimals, and of what of it is too small to divide by.
const FACTOR_TOLERANCE: f64 = 0.02;
const LEAST_BANDWIDTH: f64 = 1.0;

impl NcclTestsLog {
    /// Checks that the log is of a collective on `gpus` GPUs. A log's two bandwidths differ by a
    /// factor that tells both.
    ///
    /// # Errors
    /// Where it is not, with the line that tells.
    pub fn check(&self, collective: Collective, gpus: usize) -> Result<(), InputError> {
        if let Some(own) = self.collective().filter(|own| *own != collective.name()) {
            let problem = format!("the log is of {own}, and {collective} is asked about");
            return Err(self.refuse(self.test_line, problem, &format!("ask about {own}")));
        }
        if !self.gpus.is_empty() && self.gpus.len() != gpus {
            let (problem, remedy) = if self.hosts() > 1 {
                let hosts = hosts_text(&self.of_hosts);
                let remedy = format!("ask with {}", servers_option(&self.of_hosts));
                (format!("the log is of {hosts}, and {gpus} GPUs are asked about"), remedy)
            } else {
                let remedy = "name the GPUs that it ran on".to_owned();
                let count = self.gpus.len();
                (format!("the log is of {count} GPUs, and {gpus} are asked about"), remedy)
            };
            return Err(self.refuse(self.gpus_line, problem, &remedy));
        }
        let factor = collective.bus_factor(gpus);
        let found =
            |row: &Row| row.out_of_place.bus_bandwidth / row.out_of_place.algorithm_bandwidth;
        let is_other = |row: &&Row| {
            row.out_of_place.algorithm_bandwidth >= LEAST_BANDWIDTH
                && (found(row) - factor).abs() > FACTOR_TOLERANCE
        };
        self.rows.iter().find(is_other).map_or(Ok(()), |row| {
            let problem = format!(
                "the row has a bus bandwidth of {:.2} times its algorithm bandwidth, and {collective} \
                 on {gpus} GPUs has {factor:.2}",
                found(row)
            );
            let remedy = "name the collective and the GPUs that the log is of";
            Err(self.refuse(row.line, problem, remedy))
        })
    }

    /// Checks that a machine may be calibrated by it: one run that went well, at three sizes or more.
    ///
    /// # Errors
    /// Where it is not, with the line that tells.
    pub fn check_whole(&self) -> Result<(), InputError> {
        if let Some(LogNote { line, text }) = &self.failed {
            let problem = format!("the run failed here, and its times are no guide: {text}");
            return Err(self.refuse(*line, problem, "run it again"));
        }
        let (line, problem, remedy) = if let Some(row) =
            self.rows.iter().find(|row| row.wrong().is_some())
        {
            (row.line, "the run computed wrong values", "mend the machine and run it again")
        } else if let Some(line) = self.repeated {
            let remedy = "give the log of one run, or leave out the rows of the others";
            (line, "this size was measured before, by another run", remedy)
        } else if self.rows.len() < LEAST_ROWS {
            let line = self.rows.last().map_or(1, |row| row.line);
            (line, "a calibration takes three sizes or more", "run nccl-tests from 8 B to 1 GiB")
        } else {
            return Ok(());
        };
        Err(self.refuse(line, problem.to_owned(), remedy))
    }

    /// Checks that the question is about the run of the log, and that the model has what ran.
    ///
    /// # Errors
    /// Where another option would ask rightly, or the model lacks what ran, with the line that tells.
    pub fn check_asked(&self, findings: &[Finding]) -> Result<(), InputError> {
        let is_bar = |it: &&Finding| match it.means {
            Means::Otherwise => it.option.is_some(),
            Means::Lacking => true,
            Means::Way => false,
        };
        findings.iter().find(is_bar).map_or(Ok(()), |found| {
            let remedy = found.option.as_ref().map_or_else(
                || "calibrate by a run of what is modelled, such as with NCCL_ALGO=Ring".to_owned(),
                |option| format!("ask with {option}"),
            );
            Err(self.refuse(found.line, found.text.clone(), &remedy))
        })
    }

    fn refuse(&self, line: usize, problem: String, remedy: &str) -> InputError {
        InputError::at(&self.file, Position { line, column: 1 }, problem, "", remedy)
    }
}

/// The fewest sizes by which a machine may be calibrated.
const LEAST_ROWS: usize = 3;

#[cfg(test)]
mod tests {
    use super::super::read;
    use super::*;

    const HEAD: &str = "#  Rank  0 Group  0 Pid 1 on h device  0 [0x06] V100\n\
        #  Rank  1 Group  0 Pid 1 on h device  1 [0x07] V100\n# size time algbw busbw #wrong\n";

    #[test]
    fn a_log_of_other_gpus_is_told_by_its_ranks_and_by_its_bandwidths() {
        let text = format!("{HEAD}8 10.0 0.0 0.0 0\n1024 10.0 20.0 20.0 0\n");
        let log = read("a.log", &text).unwrap();
        assert_eq!(log.check(Collective::AllReduce, 2), Ok(()));
        let error = log.check(Collective::AllReduce, 8).unwrap_err().to_string();
        assert!(error.starts_with("a.log:2:1: the log is of 2 GPUs, and 8 are"), "{error}");
        let error = log.check(Collective::AllGather, 2).unwrap_err().to_string();
        assert!(error.starts_with("a.log:5:1: the row has a bus bandwidth of 1.00"), "{error}");
    }

    #[test]
    fn a_machine_is_calibrated_by_one_run_that_went_well() {
        let rows = "8 10.0 0.0 0.0 0\n16 10.0 0.0 0.0 0\n32 10.0 0.0 0.0 0\n";
        let checked = |text: &str| read("a.log", text).unwrap().check_whole();
        assert_eq!(checked(&format!("{HEAD}{rows}")), Ok(()));
        let failed = format!("{HEAD}{rows}h: Test NCCL failure common.cu:958 'error'\n");
        let wrong = format!("{HEAD}{rows}64 10.0 0.0 0.0 3\n");
        let repeated = format!("{HEAD}{rows}{rows}");
        let short = format!("{HEAD}8 10.0 0.0 0.0 0\n");
        for (text, line, words) in [
            (failed, 7, "failed"),
            (wrong, 7, "wrong"),
            (repeated, 7, "before"),
            (short, 4, "three"),
        ] {
            let error = checked(&text).unwrap_err().to_string();
            assert!(error.starts_with(&format!("a.log:{line}:1: ")), "{error}");
            assert!(error.contains(words), "{error}");
        }
    }
}
