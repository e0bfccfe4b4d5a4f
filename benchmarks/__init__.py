"""How accurate and how fast onepass is, beside what others offer.

Each command measures one thing and writes ``results/NAME.json``:

- ``python -m benchmarks.accuracy``: what `PCA` loses beside batch PCA, against what is promised.
- ``python -m benchmarks.intervals``: how often intervals of loadings, variances and `captured_`
  hold the truth.
- ``python -m benchmarks.floor``: how long a fit takes beside a single product.
- ``python -m benchmarks.gaps``: rows with missing values.
- ``python -m benchmarks.rdatasets``: 200 real tables against scikit-learn.
- ``python -m benchmarks.files``: files that real tools write, read and compared.
- ``python -m benchmarks.calls``: how many functions run for small tasks.
- ``python -m benchmarks.rivals``: other libraries, each in an environment of its own.

``python -m benchmarks.tables`` writes the results into the tables of README and docs.
"""
