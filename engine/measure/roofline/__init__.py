"""A roofline of this machine, and the place of a model's passes under it.

    results        ceilings, passes and layers as plain data, and the figures that follow from them
    ceilings       speed of reading and copying memory and of matrix products, here
    operations     operations of a pass, counted
    layers         time of the layers of a step, and the PyTorch calls that they make
    measurement    the whole measurement, part by part

After Williams, Waterman and Patterson, "Roofline: An Insightful Visual Performance Model for
Multicore Architectures" (2009): operations per second are at most the smaller of the arithmetic
ceiling and arithmetic intensity x memory bandwidth.
"""
