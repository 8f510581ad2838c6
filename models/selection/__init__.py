"""The budgeted 0/1 problem of ESDP.

In every slot jobs arrive at ports; the scheduler switches on channels between these ports and servers under
the capacities of the whole cluster, without knowing what a channel earns on average; channels that are
switched on show a noisy utility.
"""
