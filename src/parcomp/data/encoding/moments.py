"""Dates and times: which declared unit holds a stored moment.

A date, a time stamp and ISO text are taken to the unit that holds them, rounded down.  A time stamp with a zone or an
offset is a point in time: it is shown on the clocks of the declared zone first.  One without is taken as it is written.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from parcomp.data.encoding.outcome import OUT_OF_RANGE, WRONG_TYPE, Outcomes
from parcomp.model import Dated

__all__ = ["MomentPlacer"]

_NUMPY_UNITS = {"day": "D", "hour": "h", "month": "M", "year": "Y"}
_PARTS = re.compile(
    r"(?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"(?:[T ](?P<time>[0-9]{2}(?::[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?)?)"
    r"(?P<offset>Z|[+-][0-9]{2}(?:(?::[0-5][0-9]){0,2}|(?:[0-5][0-9]){0,2}))?)?"
)
_COARSE = {"month": re.compile(r"[0-9]{4}-[0-9]{2}"), "year": re.compile(r"[0-9]{4}")}
_INFINITE = re.compile(r"[+-]?infinity", re.IGNORECASE)
_FAR = re.compile(r"(?:[0-9]{5,}|[0-9]{4}(?=.* BC$))(?P<rest>(?:-.*?)?)(?: BC)?")
"""Moments that databases have and no attribute: at no time; after the year 9999 or before the year 1."""

_MOST_SECONDS = 10**12
"""Beyond the year 9999, and near enough for numpy's calendar."""


class MomentPlacer:
    """Places moments among the units of one attribute; ``zone`` is where points in time are shown."""

    def __init__(self, attribute: Dated, zone: ZoneInfo) -> None:
        self._attribute = attribute
        self._zone = zone
        self._unit = f"datetime64[{_NUMPY_UNITS[attribute.unit]}]"
        self._low = int(np.array(attribute.low, self._unit).astype(np.int64))

    def moments(self, array: pa.Array) -> Outcomes:
        """The outcomes of dates or of time stamps, none of them null."""
        if pa.types.is_date(array.type):
            days = array.cast(pa.date32()).cast(pa.int32()).to_numpy(zero_copy_only=False)
            return self._placed(days.astype(np.int64) * 86_400)
        # Whole seconds first: the last nanoseconds that 64 bits have leave no room for an offset.
        second = int(np.timedelta64(1, "s") / np.timedelta64(1, array.type.unit))
        seconds = array.cast(pa.int64()).to_numpy(zero_copy_only=False) // second
        return self._placed(seconds if array.type.tz is None else self._shown(seconds))

    def texts(self, texts: Iterable[Any]) -> Outcomes:
        """The outcomes of texts."""
        return np.fromiter((self._text(text) for text in texts), np.int64)

    def _placed(self, seconds: npt.NDArray[np.int64]) -> Outcomes:
        stored = np.clip(seconds, -_MOST_SECONDS, _MOST_SECONDS).astype("datetime64[s]")
        places = stored.astype(self._unit).astype(np.int64) - self._low
        return np.where((places < 0) | (places >= self._attribute.null), OUT_OF_RANGE, places)

    def _shown(self, seconds: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Points in time, in seconds since 1970 in UTC, as the clocks of the zone show them."""
        points, place_of = np.unique(seconds, return_inverse=True)
        shown = np.array([point + self._offset(point) for point in points.tolist()], np.int64)
        return shown[place_of]

    def _offset(self, point: int) -> int:
        if self._zone.key == "UTC":
            return 0
        try:
            moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=point)
        except OverflowError:
            # Beyond the years 1 to 9999, where no attribute has a value.
            return 0
        try:
            return int((moment.astimezone(self._zone).utcoffset() or timedelta(0)).total_seconds())
        except OverflowError:
            # The clocks of the zone show a day before the first or after the last.
            return 86_400 if point > 0 else -86_400

    def _text(self, text: str) -> int:
        place = self._written(text)
        if place == WRONG_TYPE:
            far = _FAR.fullmatch(text)
            if _INFINITE.fullmatch(text) or (far is not None and self._written("2000" + far["rest"]) != WRONG_TYPE):
                return OUT_OF_RANGE
        return place

    def _written(self, text: str) -> int:
        parts = _PARTS.fullmatch(text)
        coarse = _COARSE.get(self._attribute.unit)
        if parts is None and not (coarse is not None and coarse.fullmatch(text)):
            return WRONG_TYPE
        written = text if parts is not None else (text + "-01-01")[:10]
        try:
            moment = datetime.fromisoformat(written)
            if moment.tzinfo is not None:
                moment = moment.astimezone(self._zone).replace(tzinfo=None)
        except ValueError:
            return WRONG_TYPE
        except OverflowError:
            return OUT_OF_RANGE
        place = self._attribute.position(moment)
        return place if 0 <= place < self._attribute.null else OUT_OF_RANGE
