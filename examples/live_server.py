"""Keeps a server's state over a restart: jobs come and go, and a GPU fails."""

from linkwright import Allocator, Pattern, System
from linkwright.errors import AllocationError

machine = System("dgx1-v100")
server = Allocator(machine, "preserve")

for job, gpus, sensitive in [("train", 3, True), ("search", 2, False), ("tune", 2, True)]:
    match = server.allocate(job, Pattern("ring", gpus), sensitive=sensitive)
    print(f"{job} gets", match.gpus if match else "nothing")
print("free:", server.free)

server.mark_unhealthy(5)
print("GPU 5 fails; free:", server.free, "held:", server.held)

saved = server.save()
server = Allocator(machine, "preserve", state=saved)
print("restored; free:", server.free, "unhealthy:", server.unhealthy)

print("train gives back", server.release("train"))
try:
    server.release("train")
except AllocationError as error:
    print("error:", error)

waiting = server.allocate("large", Pattern("ring", 6))
print("large gets", waiting.gpus if waiting else "nothing: too few GPUs are free")
server.mark_healthy(5)
print("GPU 5 is mended; free:", server.free)
