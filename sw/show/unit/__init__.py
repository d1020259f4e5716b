"""The interface of a unit that another design takes: as JSON, as a page, and as SVD."""
