"""Writes a policy, an order of messages and a routing, and holds each to its contract."""

from linkwright.contracts import check
from linkwright.errors import MachineError


class LowestIds:
    """Gives a job the free GPUs with the lowest ids, as the policy `baseline` does."""

    def choose(self, machine, request, free):
        size = request.pattern.size
        return free[:size] if len(free) >= size else None


class FirstCome:
    """Sends messages in the order of their arrival, as `fcfs` does."""

    at_once = 1

    def __init__(self):
        self.queue = []

    def push(self, message):
        self.queue.append(message.index)

    def next(self):
        return self.queue[0] if self.queue else None

    def packetised(self, left):
        if left == 0:
            self.queue.pop(0)


class ByDestination:
    """Goes up by the destination's number, as `static` does in fat-trees of two levels."""

    def __init__(self, fabric):
        self.fabric = fabric
        self.leaf_of = [fabric.switch_of(node) for node in range(fabric.ports)]
        self.leaves = set(self.leaf_of)
        self.channels = [fabric.channels_from(switch) for switch in range(fabric.switches)]
        for leaf in self.leaves:
            for _, above in self.channels[leaf]:
                if {to for _, to in self.channels[above]} != self.leaves:
                    raise MachineError("a leaf has no links to all others by way of one switch")

    def virtual_channels(self):
        return 1

    def route(self, at, packet):
        leaf = self.leaf_of[packet.destination]
        if at == leaf:
            return self.fabric.channel_to(packet.destination), 0
        link = packet.destination % len(self.channels[leaf])
        if at in self.leaves:
            return self.channels[at][link][0], 0
        down = [channel for channel, to in self.channels[at] if to == leaf]
        return down[link % len(down)], 0


if __name__ == "__main__":
    for rule in (LowestIds, FirstCome, ByDestination):
        check(rule)
        print(f"{rule.__name__} keeps its promises")
