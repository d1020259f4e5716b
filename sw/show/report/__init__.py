"""``graphloom report``: a folder of pages with interactive plots, from the files of results.

=================  =================================================================================
``inputs``         finds the files, and says of what command each is
``command``        the command line that repeats a run
``plots``          points, blocks and pages: what a plot shows, without its looks
``resources``      how busy each resource of the hardware was, and rooflines
``results``        the runs of a file, each with its hardware and its command line
``roofline``       rooflines of runs and kernels
``runs``           pages of ``run`` and ``compare``
``timeline``       pages of traces
``tuning``         pages of ``tune``
``synthesis``      pages of ``synth``
``trade``          area against cycles, over all files
``papers``         pages of ``reproduce``
``build``          from the files to all pages
``folder``         writes the pages with their style, script and plotly
=================  =================================================================================

Plots have no colours of their own text and grid: ``page/report.js`` takes them from the style, so
that the switch between dark and light needs no new plot.
"""
