"""What a discrete Fourier transform is told."""

from __future__ import annotations

from baton._src.ir.attrs import Attrs, attr, attrs


@attrs
class FourierAttrs(Attrs):
    """Which transform."""

    length: int = attr(doc="elements of a transform")
    sign: int = attr(-1, "of the exponent: -1 forward, 1 backward")
    scale: float = attr(1.0, "factor of the results")
    kept: int = attr(0, "frequencies that are kept, the first ones; 0: all")
    to_real: bool = attr(False, "half a spectrum becomes real numbers")
    columns: bool = attr(False, "along the axis before the last")

    @property
    def given(self) -> int:
        """Elements of a row."""
        return self.length // 2 + 1 if self.to_real else self.length

    @property
    def results(self) -> int:
        """Elements of a row of the results."""
        return self.length if self.to_real else self.kept or self.length

    @property
    def axis(self) -> int:
        """The axis of the transform, counted from the end."""
        return -2 if self.columns else -1
