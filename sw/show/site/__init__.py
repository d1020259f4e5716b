"""The site: the pages of ``docs`` and the API of everything public, made by MkDocs.

:mod:`sw.show.site.build` builds and serves it. MkDocs calls :mod:`sw.show.site.hooks` for the pages
that are no files of ``docs``, and Griffe calls :mod:`sw.show.site.extension` for the docstrings.
"""
