//! Pairs the ends of links that moved data.
//!
//! Ends of one GPU with the same possible partners are interchangeable, so they form a group. The
//! search decides how many ends of one group meet ends of another. All ends must meet one, and two
//! GPUs cannot meet more often than they have links. The search first settles the group with the
//! fewest partners left. To know whether the pattern is forced, it tries every pair of GPUs the
//! other way. A used pair is left out, and an unused one is put in.

use std::collections::{BTreeMap, BTreeSet};

use super::End;

/// Partners looked at before the search gives up, so that no input makes it run for long.
const MOST_LOOKS: usize = 5_000_000;

/// Holds the result of the matching.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Matching {
    /// Pairs of ends. Every other way to pair all of them joins the same GPUs.
    Forced(Vec<(usize, usize)>),
    /// An end that fits no other.
    NoPartner(usize),
    /// Every end fits some other, but not all of them at once.
    Impossible,
    /// Ends that can lead to different GPUs in different pairings.
    Ambiguous(Vec<usize>),
    /// More ways than can be tried.
    TooMany,
}

/// Pairs all ends. `links` holds the number of links of each pair of GPUs, row by row.
pub(super) fn match_ends(
    ends: &[End],
    gpus: usize,
    links: &[u32],
    fits: &dyn Fn(&End, &End) -> bool,
) -> Matching {
    let partners: Vec<Vec<usize>> = ends
        .iter()
        .map(|end| (0..ends.len()).filter(|other| fits(end, &ends[*other])).collect())
        .collect();
    if let Some(alone) = partners.iter().position(Vec::is_empty) {
        return Matching::NoPartner(alone);
    }
    let mut search = Search::new(ends, &partners, gpus, links);
    match search.matching() {
        Ok(matching) => matching,
        Err(OutOfLooks) => Matching::TooMany,
    }
}

struct OutOfLooks;

/// Interchangeable ends.
struct Group {
    gpu: usize,
    ends: Vec<usize>,
    partners: Vec<usize>,
}

/// `count` ends of group `a` meet ends of group `b`.
#[derive(Debug, Clone, Copy)]
struct Meeting {
    a: usize,
    b: usize,
    count: u32,
    /// Holds the fewest meetings that the others leave possible.
    least: u32,
}

struct Search {
    groups: Vec<Group>,
    gpus: usize,
    /// Ends of each group that have not met anybody.
    unmet: Vec<u32>,
    /// Links of each pair of GPUs that are free.
    free: Vec<u32>,
    /// Pairs of groups, lower first, whose meetings are decided.
    decided: BTreeSet<(usize, usize)>,
    looks: usize,
}

impl Search {
    fn new(ends: &[End], partners: &[Vec<usize>], gpus: usize, links: &[u32]) -> Self {
        let mut members: BTreeMap<(usize, &[usize]), Vec<usize>> = BTreeMap::new();
        for (end, with) in partners.iter().enumerate() {
            members.entry((ends[end].gpu, with)).or_default().push(end);
        }
        let mut group_of = vec![0; ends.len()];
        for (group, of_group) in members.values().enumerate() {
            for end in of_group {
                group_of[*end] = group;
            }
        }
        let groups: Vec<Group> = members
            .into_iter()
            .map(|((gpu, with), ends)| {
                let partners: BTreeSet<usize> = with.iter().map(|end| group_of[*end]).collect();
                Group { gpu, ends, partners: partners.into_iter().collect() }
            })
            .collect();
        let unmet = groups.iter().map(|group| group.ends.len() as u32).collect();
        Self { groups, gpus, unmet, free: links.to_vec(), decided: BTreeSet::new(), looks: 0 }
    }

    fn matching(&mut self) -> Result<Matching, OutOfLooks> {
        let Some(meetings) = self.solve()? else { return Ok(Matching::Impossible) };
        let gpu = |group: usize| self.groups[group].gpu;
        let ordered = |a: usize, b: usize| (a.min(b), a.max(b));
        let used: BTreeSet<(usize, usize)> =
            meetings.iter().map(|meeting| ordered(gpu(meeting.a), gpu(meeting.b))).collect();
        let mut possible: BTreeMap<(usize, usize), Vec<(usize, usize)>> = BTreeMap::new();
        for (a, group) in self.groups.iter().enumerate() {
            for b in group.partners.iter().filter(|b| **b > a) {
                possible.entry(ordered(gpu(a), gpu(*b))).or_default().push((a, *b));
            }
        }
        let mut open = BTreeSet::new();
        for (pair, meeting_places) in possible {
            if self.can_differ(pair, &meeting_places, used.contains(&pair))? {
                let groups = meeting_places.iter().flat_map(|(a, b)| [*a, *b]);
                open.extend(groups.flat_map(|group| self.groups[group].ends.clone()));
            }
        }
        if open.is_empty() {
            return Ok(Matching::Forced(self.by_end(&meetings)));
        }
        Ok(Matching::Ambiguous(open.into_iter().collect()))
    }

    /// Whether all ends can meet with a used pair of GPUs unused, or an unused one used.
    fn can_differ(
        &mut self,
        (a, b): (usize, usize),
        meeting_places: &[(usize, usize)],
        is_used: bool,
    ) -> Result<bool, OutOfLooks> {
        if is_used {
            let places = [a * self.gpus + b, b * self.gpus + a];
            let links = self.free[places[0]];
            places.iter().for_each(|at| self.free[*at] = 0);
            let without = self.solve();
            places.iter().for_each(|at| self.free[*at] = links);
            return Ok(without?.is_some());
        }
        for (a, b) in meeting_places {
            self.meet(*a, *b, 1);
            let with = self.solve();
            self.part(*a, *b, 1);
            if with?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Lets all ends meet that have not yet, or finds that they cannot. Depth first, with a
    /// stack of its own; leaves the state as it was.
    fn solve(&mut self) -> Result<Option<Vec<Meeting>>, OutOfLooks> {
        let mut stack: Vec<Meeting> = Vec::new();
        let found = loop {
            if self.unmet.iter().all(|unmet| *unmet == 0) {
                break true;
            }
            if let Some(next) = self.next_meeting()? {
                self.decide(next);
                stack.push(next);
                continue;
            }
            let mut retried = false;
            while let Some(last) = stack.pop() {
                self.undecide(last);
                if last.count > last.least {
                    let fewer = Meeting { count: last.count - 1, ..last };
                    self.decide(fewer);
                    stack.push(fewer);
                    retried = true;
                    break;
                }
            }
            if !retried {
                break false;
            }
        };
        for meeting in stack.iter().rev() {
            self.undecide(*meeting);
        }
        stack.retain(|meeting| meeting.count > 0);
        Ok(found.then_some(stack))
    }

    /// Returns the next meeting to decide: the lowest partner of the group with the fewest partners
    /// left. It is None where some group cannot be satisfied.
    fn next_meeting(&mut self) -> Result<Option<Meeting>, OutOfLooks> {
        let mut best: Option<(usize, Meeting)> = None;
        for a in (0..self.groups.len()).filter(|a| self.unmet[*a] > 0) {
            let (mut partners, mut most_in_all) = (0_usize, 0_u32);
            let mut first = None;
            self.looks += self.groups[a].partners.len();
            for b in &self.groups[a].partners {
                let most = self.most(a, *b);
                if most > 0 {
                    partners += 1;
                    most_in_all = most_in_all.saturating_add(most);
                    first = first.or(Some((*b, most)));
                }
            }
            let Some((b, count)) = first.filter(|_| most_in_all >= self.unmet[a]) else {
                return Ok(None);
            };
            if best.is_none_or(|(fewest, _)| partners < fewest) {
                let least = self.unmet[a].saturating_sub(most_in_all - count);
                best = Some((partners, Meeting { a, b, count, least }));
            }
        }
        if self.looks > MOST_LOOKS {
            return Err(OutOfLooks);
        }
        Ok(best.map(|(_, meeting)| meeting))
    }

    /// The most meetings of two groups that are still possible.
    fn most(&self, a: usize, b: usize) -> u32 {
        if self.decided.contains(&(a.min(b), a.max(b))) {
            return 0;
        }
        let free = self.free[self.groups[a].gpu * self.gpus + self.groups[b].gpu];
        free.min(self.unmet[a]).min(self.unmet[b])
    }

    fn decide(&mut self, meeting: Meeting) {
        let Meeting { a, b, count, .. } = meeting;
        self.decided.insert((a.min(b), a.max(b)));
        self.meet(a, b, count);
    }

    fn undecide(&mut self, meeting: Meeting) {
        let Meeting { a, b, count, .. } = meeting;
        self.decided.remove(&(a.min(b), a.max(b)));
        self.part(a, b, count);
    }

    fn meet(&mut self, a: usize, b: usize, count: u32) {
        let (one, other) = (self.groups[a].gpu, self.groups[b].gpu);
        self.unmet[a] -= count;
        self.unmet[b] -= count;
        self.free[one * self.gpus + other] -= count;
        self.free[other * self.gpus + one] -= count;
    }

    fn part(&mut self, a: usize, b: usize, count: u32) {
        let (one, other) = (self.groups[a].gpu, self.groups[b].gpu);
        self.unmet[a] += count;
        self.unmet[b] += count;
        self.free[one * self.gpus + other] += count;
        self.free[other * self.gpus + one] += count;
    }

    /// Which end meets which, lowest first.
    fn by_end(&self, meetings: &[Meeting]) -> Vec<(usize, usize)> {
        let mut meetings = meetings.to_vec();
        meetings.sort_unstable_by_key(|meeting| (meeting.a, meeting.b));
        let mut next = vec![0; self.groups.len()];
        let mut take = |group: usize| {
            next[group] += 1;
            self.groups[group].ends[next[group] - 1]
        };
        let one_by_one = meetings.iter().flat_map(|m| (0..m.count).map(move |_| (m.a, m.b)));
        one_by_one.map(|(a, b)| (take(a), take(b))).collect()
    }
}
