"""A roofline of this machine, and where the passes of a model lie under it.

    results        ceilings, passes and layers as plain data, and the figures that follow from them
    ceilings       how fast memory is read and copied, and matrices are multiplied, here
    operations     operations of a pass, counted
    layers         how long the layers of a step take, and what they make PyTorch do
    measurement    all of it, part by part

After Williams, Waterman and Patterson, "Roofline: An Insightful Visual Performance Model for
Multicore Architectures" (2009): operations a second are at most the smaller of the arithmetic
ceiling and arithmetic intensity x memory bandwidth.
"""
