//! Says why a job got its servers, and its GPUs there.

use super::allocator::{ClusterAllocator, ClusterRequest};
use super::rules::{ClusterAsk, ServerRules};
use super::servers::ServerChoice;
use crate::allocation::allocator::Explanation;
use crate::allocation::effort::Effort;
use crate::allocation::error::AllocationError;
use crate::allocation::policy::Request;

/// Why a decision on several servers came out as it did.
#[derive(Debug, Clone, PartialEq)]
pub struct ClusterExplanation {
    /// Says by what rule it has its servers, and why these; None of a server that stands alone.
    pub servers: Option<String>,
    /// Explains the decision in each of its servers, in their order.
    pub parts: Vec<(usize, Explanation)>,
}

impl ClusterAllocator {
    /// The decision with its best `limit` candidates of each server, and why they won; `None` where the job has to wait.
    ///
    /// # Errors
    /// Fails as [`Self::decide`] does.
    pub fn explain(
        &self,
        job: &str,
        request: &ClusterRequest<'_>,
        limit: usize,
        effort: &mut Effort<'_>,
    ) -> Result<Option<ClusterExplanation>, AllocationError> {
        let Some(chosen) = self.decide(job, request, effort)? else { return Ok(None) };
        let ask = ClusterAsk {
            gpus: request.pattern.size(),
            servers: request.servers,
            exclusive: request.exclusive,
        };
        let of: Vec<usize> = chosen.iter().map(|(server, _)| *server).collect();
        let rules = self.healthy_rules();
        let servers =
            self.is_on_fabric().then(|| why(&rules, ask, &self.free_for(&rules, ask), &of));
        let mut parts = Vec::with_capacity(chosen.len());
        for (server, selection) in chosen {
            let pattern = request.pattern.on(selection.chosen.placement.len())?;
            let part = Request { pattern: &pattern, sensitive: request.sensitive };
            let explained =
                self.servers[server].explain_choice(job, &part, selection, limit, effort)?;
            parts.push((server, explained));
        }
        Ok(Some(ClusterExplanation { servers, parts }))
    }
}

/// Tells the rule by which a job has its servers, and how many GPUs these had free.
fn why(rules: &ServerRules, ask: ClusterAsk, free: &[usize], chosen: &[usize]) -> String {
    let name = |server: &usize| format!("node{server}");
    let named: Vec<String> = chosen.iter().map(name).collect();
    let listed = named.join(", ");
    let room = rules.wanted_servers(ask).map_or(ask.gpus, |wanted| ask.gpus.div_ceil(wanted));
    let fitting = free.iter().filter(|free| **free >= room).count();
    let servers = |count: usize| match count {
        1 => "1 server that has".to_owned(),
        more => format!("{more} servers that have"),
    };
    let gpus = |count: usize| format!("{count} GPU{}", if count == 1 { "" } else { "s" });
    let closed = if rules.is_exclusive(ask) { " and nobody else on" } else { "" };
    let of_fitting = format!("of {} {} free{closed}", servers(fitting), gpus(room));
    if let Some(wanted) = rules.wanted_servers(ask) {
        let mut on: Vec<_> = chosen.iter().map(|server| rules.leaf(*server)).collect();
        on.sort_unstable();
        on.dedup();
        let leaves = match on[..] {
            [None] => String::new(),
            [_] => ", on one leaf".to_owned(),
            _ => format!(", on {} leaves", on.len()),
        };
        let even = if wanted == 1 { "1 server" } else { &format!("{wanted} servers evenly") };
        return format!("the job takes {even}: {listed}{leaves}, {of_fitting}");
    }
    if let [server] = chosen {
        let had = free[*server];
        let rule = match rules.choice() {
            ServerChoice::FirstFit => "is the first".to_owned(),
            ServerChoice::Pack | ServerChoice::Whole => format!("has the fewest free, {had}"),
            ServerChoice::Spread => format!("has the most free, {had}"),
        };
        return format!("{} {rule} {of_fitting}", name(server));
    }
    let most = free.iter().max().copied().unwrap_or(0);
    let rule = match rules.choice() {
        ServerChoice::FirstFit => "all that it finds free, server by server",
        ServerChoice::Pack | ServerChoice::Whole => "as few servers as it can",
        ServerChoice::Spread => "GPU by GPU where the most are free",
    };
    format!("no server has {} free, {most} at most; the job takes {rule}: {listed}", gpus(ask.gpus))
}
