"""Batches in pandas and polars."""

import numpy as np
import pytest

import ferric

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")

MEASUREMENTS = ["DRB.UEThpDl", "CQI"]
COLUMNS = ["time", "node", "cell", "ue", "slice", *MEASUREMENTS]


@pytest.fixture(scope="module")
def batch():
    with ferric.Demo(ues=4) as demo, demo.connect() as ric, ric.kpm(MEASUREMENTS, period_ms=100) as stream:
        stream.batch()
        return stream.batch()


def test_pandas_has_the_columns(batch):
    table = batch.to_arrow().to_pandas()
    assert list(table.columns) == COLUMNS and len(table) == len(batch)
    assert str(table["time"].dtype) == "datetime64[ns, UTC]"
    assert table["ue"].str.startswith("amf:").all()
    np.testing.assert_array_equal(table["CQI"].to_numpy(), batch["CQI"])


def test_polars_reads_the_batch_itself(batch):
    """By Arrow's PyCapsule interface."""
    table = polars.DataFrame(batch)
    assert table.columns == COLUMNS and len(table) == len(batch)
    assert table["time"].dtype == polars.Datetime("ns", "UTC")
    assert table["ue"].cast(polars.String).str.starts_with("amf:").all()
    np.testing.assert_array_equal(table["CQI"].cast(polars.Float64).fill_null(float("nan")).to_numpy(), batch["CQI"])
    assert len(polars.from_arrow(batch.to_arrow())) == len(batch)
