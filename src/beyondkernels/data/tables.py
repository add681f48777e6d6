"""Tables with words, dates and missing values, as numbers of distinct values; for estimators that take tables."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from beyondkernels.core import InputError
from beyondkernels.data.columns import column_names

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True, eq=False)
class ValueTable:
    """The distinct values of each column of a table, in the types that they had.

    A cell is the place of its value among them, and −1 where the value is missing.

    Arguments:
        columns: the names of the columns, as the table has them.
        values: the distinct values of each.

    >>> import pandas as pd
    >>> codes, values = ValueTable.read(pd.DataFrame({"kind": ["a", None, "b", "a"], "size": [0.5, 2.0, None, 0.5]}))
    >>> codes.tolist()
    [[0.0, 0.0], [-1.0, 1.0], [1.0, -1.0], [0.0, 0.0]]
    >>> values.frame(codes)["size"].tolist()
    [0.5, 2.0, nan, 0.5]
    """

    columns: tuple[Any, ...]
    values: tuple[Any, ...]

    @classmethod
    def read(cls, frame: DataFrame, known: ValueTable | None = None) -> tuple[np.ndarray, ValueTable]:
        """The cells of a table as numbers (n, columns), and its values.

        Arguments:
            frame: the table.
            known: values that have places already; new ones come after them.
        """
        import pandas as pd

        codes, values = [], []
        for i in range(frame.shape[1]):
            try:
                places, own = pd.factorize(frame.iloc[:, i])
            except TypeError as error:
                raise InputError(
                    f"the column {column_names(frame)[i]!r} must hold values to compare: {error}"
                ) from None
            own = every = pd.Index(own)
            if known is not None:
                old = known.values[i]
                every = old.append(own[~own.isin(old)])
                places = np.append(every.get_indexer(own), -1)[places]  # a missing value has the place −1
            codes.append(places)
            values.append(every)
        return np.stack(codes, 1).astype(np.float32), cls(tuple(frame.columns), tuple(values))

    def frame(self, codes: np.ndarray) -> DataFrame:
        """The table whose cells have these numbers.

        Arguments:
            codes: (n, columns).
        """
        import pandas as pd

        places = codes.astype(np.int64)
        cells = [pd.Series(each).reindex(places[:, i]) for i, each in enumerate(self.values)]
        found = pd.concat([cell.reset_index(drop=True) for cell in cells], axis=1)
        found.columns = list(self.columns)
        return found

    def content(self) -> str:
        """A hash of the values and their types."""
        told = [
            (str(name), str(each.dtype), each.tolist()) for name, each in zip(self.columns, self.values, strict=True)
        ]
        return hashlib.sha256(repr(told).encode()).hexdigest()[:32]


def needs_values(frame: DataFrame) -> bool:
    """Whether a table holds anything but numbers that are there."""
    kinds = [np.asarray(frame.iloc[:, i]).dtype for i in range(frame.shape[1])]
    return any(kind.kind not in "biuf" for kind in kinds) or bool(frame.isna().to_numpy().any())
