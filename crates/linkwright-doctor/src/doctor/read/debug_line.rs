//! Takes a line of `NCCL_DEBUG` apart. It tells who printed it, and gives what it says.
//!
//! NCCL writes `host:process:thread [device] NCCL INFO message` (2.30.7, `src/debug.cc` 330 and 354), and warnings with
//! the file and line of its source between (345). From 2.27 on, a time may stand before.

/// Holds a line of NCCL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NcclLine<'a> {
    /// Empty where the line does not say it.
    pub host: &'a str,
    /// `process:thread`; empty where the line does not say it.
    pub thread: &'a str,
    /// Whether it warns.
    pub warns: bool,
    /// Is what NCCL says.
    pub message: &'a str,
    /// Is the line without a launcher's prefix.
    pub whole: &'a str,
}

impl<'a> NcclLine<'a> {
    /// None where the line is none of NCCL's.
    pub fn of(text: &'a str) -> Option<Self> {
        let at = text.find("NCCL ")?;
        let behind = &text[at + 5..];
        let (warns, message) = if let Some(message) = behind.strip_prefix("INFO ") {
            (false, message)
        } else if let Some(message) = behind.strip_prefix("WARN ") {
            (true, message)
        } else if behind.starts_with("version ") {
            return Some(Self::version(text, at));
        } else {
            return None;
        };
        let mut found = Self { host: "", thread: "", warns, message, whole: &text[at..] };
        // Behind the name stand at most the device and the place in the source.
        let mut end = at;
        for _ in 0..4 {
            let before = text[..end].trim_end();
            let start = before.rfind(char::is_whitespace).map_or(0, |blank| {
                blank + before[blank..].chars().next().map_or(1, char::len_utf8)
            });
            if let Some((host, thread)) = name(&before[start..]) {
                let host_at = before.len() - thread.len() - 1 - host.len();
                (found.host, found.thread, found.whole) = (host, thread, &text[host_at..]);
                break;
            }
            if start == 0 {
                break;
            }
            end = start;
        }
        Some(found)
    }

    /// `NCCL version 2.27.7+cuda12.9` stands alone, and `RCCL version : 2.22.3-...` too.
    fn version(text: &'a str, at: usize) -> Self {
        let whole = &text[at..];
        Self { host: "", thread: "", warns: false, message: whole, whole }
    }

    /// Gives `process` of `process:thread`.
    pub fn process(&self) -> &'a str {
        self.thread.split(':').next().unwrap_or_default()
    }
}

/// Gives `host` and `process:thread` of a word.
fn name(word: &str) -> Option<(&str, &str)> {
    let is_number = |it: &str| !it.is_empty() && it.bytes().all(|byte| byte.is_ascii_digit());
    let (rest, thread) = word.rsplit_once(':')?;
    let (before, process) = rest.rsplit_once(':')?;
    if !is_number(thread) || !is_number(process) {
        return None;
    }
    let is_of_host = |it: char| it.is_alphanumeric() || matches!(it, '-' | '.' | '_');
    let start = before
        .rfind(|it| !is_of_host(it))
        .map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
    let host = &before[start..];
    (!host.is_empty()).then(|| (host, &word[before.len() + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_found_behind_any_prefix() {
        for prefix in ["", "3: ", "[1,0]<stdout>:", "[2026-11-25 10:00:01] ", "pod-0 10:00:01.5 "] {
            let text = format!("{prefix}node-1:77:78 [3] NCCL INFO Connected all rings");
            let line = NcclLine::of(&text).unwrap();
            assert_eq!(
                (line.host, line.thread, line.process()),
                ("node-1", "77:78", "77"),
                "{prefix}"
            );
            assert_eq!(line.whole, "node-1:77:78 [3] NCCL INFO Connected all rings");
            let text =
                format!("{prefix}\nnode-1:77:78 [3] misc/socket.cc:58 NCCL WARN Call failed");
            assert_eq!(NcclLine::of(&text).map(|it| (it.host, it.warns)), Some(("node-1", true)));
        }
        let lone = NcclLine::of("NCCL version 2.27.7+cuda12.9").unwrap();
        assert_eq!(lone.message, "NCCL version 2.27.7+cuda12.9");
        assert_eq!(NcclLine::of("[0] NCCL INFO x").unwrap().host, "");
        assert_eq!(NcclLine::of("NCCL failure"), None);
    }
}
