//! Whether a log is of the collective and the GPUs that it is set beside.

use super::read::{NcclTestsLog, Row};
use crate::collectives::collective::Collective;
use crate::diagnostic::{InputError, Position};

/// Of what a log prints with two decimals, and of what of it is too small to divide by.
const FACTOR_TOLERANCE: f64 = 0.02;
const LEAST_BANDWIDTH: f64 = 1.0;

impl NcclTestsLog {
    /// Checks that the log is of a collective on so many GPUs. A log's two bandwidths differ by a factor
    /// that tells both.
    ///
    /// # Errors
    /// Where it is not, with the line that tells.
    pub fn check(&self, collective: Collective, gpus: usize) -> Result<(), InputError> {
        if !self.gpus.is_empty() && self.gpus.len() != gpus {
            let problem =
                format!("the log is of {} GPUs, and {gpus} are asked about", self.gpus.len());
            let remedy = "name the GPUs that it ran on";
            return Err(self.refuse(self.gpus_line, problem, remedy));
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
        let wrong = |row: &&Row| row.out_of_place.wrong.is_some_and(|wrong| wrong > 0);
        let (line, problem, remedy) = if let Some(line) = self.failed {
            (line, "the run failed here, and what it measured is no guide", "run it again")
        } else if let Some(row) = self.rows.iter().find(wrong) {
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
