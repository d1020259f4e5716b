"""A cluster for the tests of this folder."""

import pytest

from .machines import LocalCluster


@pytest.fixture(scope="package")
def cluster_of_all():
    with LocalCluster() as found:
        yield found


@pytest.fixture
def cluster(cluster_of_all):
    """A cluster with two workers."""
    cluster_of_all.complete()
    return cluster_of_all
