"""One model with Beam: python beam_combine.py model.onepass rows/*."""

import sys

import apache_beam as beam
import pyarrow as pa
from apache_beam.options.pipeline_options import PipelineOptions

import onepass


class Fit(beam.CombineFn):
    """A model as a fold: new, `partial_fit`, `merge`, read."""

    def create_accumulator(self) -> None:
        """Return the model of no rows."""

    def add_input(self, model: onepass.PCA | None, table: pa.Table) -> onepass.PCA:
        """Return the model of some more rows."""
        return (model or onepass.PCA(5)).partial_fit(table)

    def merge_accumulators(self, models: list[onepass.PCA | None]) -> onepass.PCA | None:
        """Return one model of the rows of all."""
        some = [model for model in models if model is not None]
        return onepass.merge(*some) if some else None

    def extract_output(self, model: onepass.PCA) -> bytes:
        """Return the model in a form that any coder can send."""
        return model.to_bytes()


if __name__ == "__main__":
    options = [word for word in sys.argv[1:] if word.startswith("--")]
    output, *paths = [word for word in sys.argv[1:] if word not in options]
    with beam.Pipeline(options=PipelineOptions(options)) as pipeline:
        rows = pipeline | beam.Create(paths) | beam.io.ReadAllFromParquetBatched()
        model = rows | beam.CombineGlobally(Fit())
        model | beam.Map(lambda data: onepass.from_bytes(data).save(output))
