"""Lists what the package `otf2` reads from an archive, to compare the reader of Linkwright with.

Call it as python dump.py ANCHOR.otf2 > LISTING, with the package `otf2` of PyPI (3.2) installed.

One line for each definition and event, with global ids. An event's line starts with its time on
its location's own clock and on the common one. The listings beside this file are this program's
output; `crates/linkwright/tests/it/otf2/listing.rs` writes the same lines from its own reading.
"""

import sys

import _otf2 as otf2

KINDS = [
    *("BufferFlush", "MeasurementOnOff", "Enter", "Leave", "MpiSend", "MpiIsend"),
    *("MpiIsendComplete", "MpiIrecvRequest", "MpiRecv", "MpiIrecv", "MpiRequestTest"),
    *("MpiRequestCancelled", "MpiCollectiveBegin", "MpiCollectiveEnd", "ParameterString"),
    *("ParameterInt", "ParameterUnsignedInt", "NonBlockingCollectiveRequest"),
    *("NonBlockingCollectiveComplete", "MpiProbe", "MpiMrecv", "MpiImrecvRequest", "MpiImrecv"),
]
OTHER_KINDS = ["ThreadFork", "Metric"]
DEFINITIONS = ["ClockProperties", "String", "LocationGroup", "Location", "Region", "Group", "Comm"]
DEFINITIONS += ["InterComm", "Parameter"]
COMM_LOCATIONS, COMM_SELF = 4, 6


def plain(field):
    """Returns a field as Python's own number or text."""
    return getattr(field, "value", field)


def definitions(handle):
    """Returns every definition's fields, by kind."""
    found = {kind: [] for kind in DEFINITIONS}
    kept = []  # the library does not keep the callbacks alive
    callbacks = otf2.GlobalDefReaderCallbacks_New()
    for kind in DEFINITIONS:

        def add(_data, *fields, kind=kind):
            found[kind].append([plain(field) for field in fields])

        kept.append(add)
        getattr(otf2, f"GlobalDefReaderCallbacks_Set{kind}Callback")(callbacks, add)
    reader = otf2.Reader_GetGlobalDefReader(handle)
    otf2.Reader_RegisterGlobalDefCallbacks(handle, reader, callbacks, None)
    otf2.Reader_ReadAllGlobalDefinitions(handle, reader)
    otf2.Reader_CloseGlobalDefReader(handle, reader)
    return found


def events(handle, location, corrected):
    """Returns every event of a location: time, kind and fields."""
    found = []
    kept = []  # the library does not keep the callbacks alive
    callbacks = otf2.EvtReaderCallbacks_New()
    for kind in KINDS + OTHER_KINDS:

        def add(_location, time, _position, _data, _attributes, *fields, kind=kind):
            fields = fields if kind in KINDS else []
            name = kind if kind in KINDS else "Other"
            found.append([time, name, *(plain(field) for field in fields)])

        kept.append(add)
        getattr(otf2, f"EvtReaderCallbacks_Set{kind}Callback")(callbacks, add)
    reader = otf2.Reader_GetEvtReader(handle, location)
    otf2.EvtReader_ApplyClockOffsets(reader, corrected)
    otf2.Reader_RegisterEvtCallbacks(handle, reader, callbacks, None)
    otf2.Reader_ReadAllLocalEvents(handle, reader)
    otf2.Reader_CloseEvtReader(handle, reader)
    return found


def members(groups, group):
    """Returns a group's members, as ranks of its paradigm's locations."""
    _, _, kind, _, _, ranks = groups[group]
    if kind == COMM_SELF:
        return "itself"
    return " ".join(str(rank) for rank in (range(len(ranks)) if kind == COMM_LOCATIONS else ranks))


def print_definitions(found):
    """Prints the definitions that the reader of Linkwright keeps."""
    strings = dict(found["String"])
    groups = {fields[0]: fields for fields in found["Group"]}
    print("clock", *found["ClockProperties"][0][:3])
    for ref, name, _, _, role, paradigm, flags, *_ in sorted(found["Region"]):
        print("region", ref, role, paradigm, flags, strings[name])
    comms = [
        (ref, name, parent, members(groups, group)) for ref, name, group, parent, _ in found["Comm"]
    ]
    for ref, name, one, other, parent, _ in found["InterComm"]:
        comms.append((ref, name, parent, f"{members(groups, one)} | {members(groups, other)}"))
    for ref, name, parent, ranks in sorted(comms):
        print("communicator", ref, parent, repr(strings[name]), ranks)
    for ref, name, _ in sorted(found["Parameter"]):
        print("parameter", ref, strings[name])


def main(anchor):
    """Prints the listing of one archive."""
    handle = otf2.Reader_Open(anchor)
    otf2.Reader_SetSerialCollectiveCallbacks(handle)
    found = definitions(handle)
    print_definitions(found)
    strings = dict(found["String"])
    processes = {fields[0]: strings[fields[1]] for fields in found["LocationGroup"]}
    for location in found["Location"]:
        otf2.Reader_SelectLocation(handle, location[0])
    otf2.Reader_OpenDefFiles(handle)
    for location in found["Location"]:
        reader = otf2.Reader_GetDefReader(handle, location[0])
        otf2.Reader_ReadAllLocalDefinitions(handle, reader)
        otf2.Reader_CloseDefReader(handle, reader)
    otf2.Reader_OpenEvtFiles(handle)
    for ref, name, kind, count, process in found["Location"]:
        print("location", ref, kind, count, f"{strings[name]} | {processes[process]}")
        own = events(handle, ref, corrected=False)
        for (time, *_), event in zip(own, events(handle, ref, corrected=True), strict=True):
            print(time, *event)
    otf2.Reader_Close(handle)


if __name__ == "__main__":
    main(sys.argv[1])
