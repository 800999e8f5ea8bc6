"""What a model costs on this machine: time, memory and their ceilings, measured.

    machine          what measured: processor, versions, dtype, threads, date
    measurement      what every measurement is: parts, measured one after the other
    report           measurements of a machine as one JSON file, and back

Every timed pass waits for its turn in the scheduler, and is timed within that turn: what others do
with the model is waited for, and is in no figure.
"""
