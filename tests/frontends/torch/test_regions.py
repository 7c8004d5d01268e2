"""What object detectors of torchvision end with: suppression, pooled regions, deformable convolutions. All were
refused."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.frontends.torch.cases.inputs import floats
from tests.frontends.torch.comparing import check, exported_cases
from tests.frontends.torch.torchvision_operators import register

register()
own = torch.ops.torchvision

CORNERS = floats(9, 2, seed=3).abs() * 6
BOXES = torch.cat([CORNERS, CORNERS + floats(9, 2, seed=4).abs() * 6], 1)
SCORES = floats(9, seed=5)
IMAGES = floats(2, 8, 7, 9)
REGIONS = torch.cat([torch.tensor([[0.0], [1.0], [1.0]]), BOXES[:3] * 1.5 - 1.0], 1)


def test_regions() -> None:
    cases: list[Any] = [
        (lambda x, r: own.roi_align(x, r, 0.5, 2, 3, 2, True), (IMAGES, REGIONS)),
        (lambda x, r: own.roi_align(x, r, 0.75, 3, 2, 0, False), (IMAGES, REGIONS)),
        (lambda x, r: own.roi_pool(x, r, 0.5, 2, 3)[0], (IMAGES, REGIONS)),
        (lambda x, r: own.ps_roi_align(x, r, 0.5, 2, 2, 2)[0], (IMAGES, REGIONS)),
        (lambda x, r: own.ps_roi_pool(x, r, 0.75, 2, 2)[0], (IMAGES, REGIONS)),
        (lambda x, r: own.ps_roi_pool(x, r * r.new_tensor([1, 1, 1, -2, 4]), 0.5, 2, 1)[0], (IMAGES, REGIONS)),
    ]
    check(*exported_cases(cases), "regions")


@pytest.mark.parametrize("limit", [0.1, 0.4, 1.0])
def test_suppression(limit: float) -> None:
    """The places of the boxes that stay, as many as a run finds."""
    check(*exported_cases([(lambda b, s: b[own.nms(b, s, limit)], (BOXES, SCORES))]), f"limit {limit}")


def test_suppression_of_boxes_turned_around() -> None:
    """They have nothing in common with any box, whatever their corners enclose; equal scores keep their order."""
    turned = torch.tensor([[0.0, 0, 4, 4], [4, 4, 0, 0], [4, 0, 0, 4], [0, 0, 4, 4], [1, 1, 1, 1]])
    boxes, scores = turned.repeat(2, 1), torch.tensor([0.5, 0.5, 0.7, 0.7, -torch.inf]).repeat(2)
    check(*exported_cases([(lambda b, s: own.nms(b, s, 0.2), (boxes, scores))]), "boxes turned around")


def test_suppression_of_nothing() -> None:
    check(*exported_cases([(lambda b, s: own.nms(b, s, 0.5), (BOXES[:0], SCORES[:0]))]), "no boxes")


@pytest.mark.parametrize(("groups", "offset_groups", "steps"), [(1, 1, (1, 1, 1, 1, 1, 1)), (2, 2, (2, 1, 0, 2, 1, 2))])
def test_deformable_convolution(groups: int, offset_groups: int, steps: tuple[int, ...]) -> None:
    x, weight, bias = floats(2, 4, 5, 6), floats(4, 4 // groups, 2, 3, seed=1), floats(4, seed=2)
    plain = torch.nn.functional.conv2d(x, weight, None, steps[:2], steps[2:4], steps[4:], groups)
    out = plain.shape[2:]
    offset = floats(2, offset_groups * 12, *out, seed=3) * 2
    mask = floats(2, offset_groups * 6, *out, seed=4)

    def convolved(*given: Any) -> Any:
        """With masks, without them, and where nothing is moved: a plain convolution."""
        found = own.deform_conv2d(*given, *steps, groups, offset_groups, True)
        unmasked = own.deform_conv2d(*given, *steps, groups, offset_groups, False)
        still = own.deform_conv2d(*given[:2], given[2] * 0, *given[3:], *steps, groups, offset_groups, False)
        return found, unmasked, still

    exported, inputs, expected = exported_cases([(convolved, (x, weight, offset, mask, bias))])
    check(exported, inputs, expected, "deformable")
    torch.testing.assert_close(expected[2], plain + bias[:, None, None])
