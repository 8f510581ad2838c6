"""The house style: same bytes, readable on light and dark, nothing that clashes in a page."""

import re
import subprocess
import sys
from functools import partial
from itertools import combinations
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from matplotlib.colors import to_rgba
from matplotlib.text import Text

from clairvoyant.analysis import admission, allocation, experiments, placement, selection
from clairvoyant.analysis.claim import Context
from clairvoyant.analysis.experiments import bars_of, curves
from clairvoyant.analysis.plots import (
    AT_MOST_ALL,
    HATCHES,
    INK,
    MARKERS,
    PALETTE,
    POSITIVE,
    candidates,
    looks_of,
    name_axes,
    new_figure,
    plot_bands,
    plot_bars,
    plot_gantts,
    power_of_ten,
    prefix_ids,
    span_bound,
    to_svg,
)
from clairvoyant.analysis.statistics import mean_band
from clairvoyant.models.base import InputError
from clairvoyant.problems import OURS, Problem, find

X = np.arange(1, 60)
SAMPLES = np.random.default_rng(0).normal(5.0, 1.0, size=(5, X.size))


def bands(scale: float = 1.0, log: str = "x") -> str:
    figure, ax = new_figure()
    plot_bands(ax, X, {"a & <b>": mean_band(SAMPLES * scale), "c": mean_band(SAMPLES + 3)})
    name_axes(ax, "slot", "reward", log=log)
    return to_svg(figure)


def bars() -> str:
    figure, ax = new_figure()
    plot_bars(ax, ["x", "y"], {"one": mean_band(SAMPLES[:, :2]), "two": ([1, 2], [np.nan] * 2, [np.nan] * 2)})
    return to_svg(figure)


def texts(svg: str) -> list[str]:
    root = ET.fromstring(svg)  # noqa: S314 - our own
    return ["".join(node.itertext()).strip() for node in root.iter() if "text" in node.tag]


def test_the_same_figure_has_the_same_bytes() -> None:
    figure, ax = new_figure()
    plot_bands(ax, X, {"a": mean_band(SAMPLES), "b": mean_band(SAMPLES * 2)})
    size = tuple(figure.get_size_inches())
    assert to_svg(figure) == to_svg(figure)
    assert tuple(figure.get_size_inches()) == size
    assert bands() == bands()


def test_a_notebook_shows_our_figures_as_svg_of_their_width() -> None:
    formatters = pytest.importorskip("IPython.core.formatters", reason="the extra notebooks is missing")

    figure, ax = new_figure()
    plot_bands(ax, X, {"a": mean_band(SAMPLES)})
    shown = formatters.SVGFormatter()(figure)
    assert shown.replace(f'width="{96 * figure.get_figwidth():g}"', 'width="100%"') == to_svg(figure)


@pytest.fixture(params=[bands, bars], scope="module")
def svg(request: pytest.FixtureRequest) -> str:
    return str(request.param())


class TestSvg:
    def test_is_well_formed_and_scales(self, svg: str) -> None:
        root = ET.fromstring(svg)  # noqa: S314 - our own
        assert root.attrib["width"] == "100%"
        assert "height" not in root.attrib
        assert root.attrib["viewBox"].startswith("0 0 ")

    def test_takes_the_colours_of_the_page(self, svg: str) -> None:
        assert "currentColor" in svg
        for fixed in ("#000", "black", "#fff", "white", INK):
            assert fixed not in svg.lower()

    def test_has_no_date_address_or_page_wide_style(self, svg: str) -> None:
        assert "<style" not in svg
        assert "metadata" not in svg
        assert re.findall(r"https?://[^\"]*", svg) == ["http://www.w3.org/2000/svg"]
        assert not re.search(r"20\d\d-\d\d-\d\d", svg)

    def test_keeps_only_ids_that_are_used(self, svg: str) -> None:
        ids = re.findall(r'\sid="([^"]+)"', svg)
        assert len(ids) == len(set(ids))
        assert set(ids) == set(re.findall(r'(?:href="|url\()#([^")]+)', svg))


def test_text_stays_text() -> None:
    assert {"a & <b>", "c", "slot", "reward", "95 % confidence"} <= set(texts(bands()))


def test_figures_share_no_ids() -> None:
    first, second = (set(re.findall(r'\sid="([^"]+)"', svg)) for svg in (bands(), bands(2.0)))
    assert first
    assert not first & second


def test_ids_and_what_refers_to_them_get_the_same_prefix() -> None:
    svg = '<g id="a"/><use href="#a"/><path clip-path="url(#a)"/>'
    assert prefix_ids(svg, "f1") == '<g id="f1-a"/><use href="#f1-a"/><path clip-path="url(#f1-a)"/>'


def luminance(colour: str) -> float:
    channel = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(channel <= 0.04045, channel / 12.92, ((channel + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


@pytest.mark.parametrize("colour", PALETTE)
@pytest.mark.parametrize("page", ["#fdfdfc", "#14171a"])
def test_colours_contrast_with_light_and_dark_pages(colour: str, page: str) -> None:
    low, high = sorted((luminance(colour), luminance(page)))
    assert (high + 0.05) / (low + 0.05) >= 3.0


SIGHT = {
    "full": np.eye(3),
    # Machado, Oliveira and Fernandes 2009, severity 1.
    "deutan": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "protan": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
}


@pytest.mark.parametrize("sight", SIGHT)
def test_colours_differ_for_the_colour_blind(sight: str) -> None:
    def lab(colour: str) -> np.ndarray:
        channel = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
        linear = np.where(channel <= 0.04045, channel / 12.92, ((channel + 0.055) / 1.055) ** 2.4)
        seen = np.clip(np.asarray(SIGHT[sight]) @ linear, 0, 1)
        xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]) @ seen
        f = np.cbrt(xyz / [0.9505, 1.0, 1.089])
        return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])

    assert min(float(np.linalg.norm(lab(a) - lab(b))) for a, b in combinations(PALETTE, 2)) >= 20.0


def test_curves_differ_without_colours() -> None:
    _, ax = new_figure()
    plot_bands(ax, X, {f"curve {i}": mean_band(SAMPLES + i) for i in range(7)})
    lines = ax.get_lines()
    assert len({str(line.get_marker()) for line in lines}) == 7
    # matplotlib names every pattern of its own "--"; the cycle behind it is what differs
    assert len({str(line._unscaled_dash_pattern) for line in lines}) == 7


def test_a_band_is_drawn_only_where_there_is_one() -> None:
    _, ax = new_figure()
    plot_bands(ax, X, {"one seed": mean_band(SAMPLES[:1])})
    assert not ax.collections
    plot_bands(ax, X, {"five seeds": mean_band(SAMPLES)})
    plot_bands(ax, X, {"again": mean_band(SAMPLES)})
    names = ax.get_legend_handles_labels()[1]
    assert names.count("95 % confidence") == 1


def test_error_bars_are_drawn_only_where_there_are_ends() -> None:
    _, ax = new_figure()
    plot_bars(ax, ["x", "y"], {"one": ([1, 2], [0, np.nan], [3, np.nan])})
    (bars,) = (container for container in ax.containers if type(container).__name__ == "ErrorbarContainer")
    assert [segment.tolist() for segment in bars.lines[2][0].get_segments()] == [[[0, 0], [3, 0]]]


def test_panels_share_one_legend_above_them() -> None:
    figure, (upper, lower) = new_figure(2)
    for ax in (upper, lower):
        plot_bands(ax, X, {"a": mean_band(SAMPLES), "b": mean_band(SAMPLES)})
    found = texts(to_svg(figure))
    assert found.count("a") == 1
    assert found.count("b") == 1


@pytest.mark.parametrize("kinds", [("a", "b"), ("one with a long name", "b", "c", "d")])
def test_a_legend_covers_neither_the_curves_nor_the_title(kinds: tuple[str, ...]) -> None:
    figure, (upper, lower) = new_figure(2)
    plot_bands(upper, X, {kind: mean_band(SAMPLES) for kind in kinds})
    rows = [f"job {kind}" for kind in kinds]
    plot_gantts({"": np.ones((len(kinds), 3))}, rows, kinds, "workers", lower)
    figure.draw_without_rendering()
    for ax in (upper, lower):
        legend, title = ax.get_legend(), ax.get_title("left")
        assert legend is not None
        below = ax.get_window_extent().y1
        if title:
            (drawn,) = (text for text in ax.findobj(Text) if text.get_text() == title)
            below = drawn.get_window_extent().y1
        assert legend.get_window_extent().y0 >= below


def test_a_single_name_needs_no_legend() -> None:
    figure, ax = new_figure()
    plot_bands(ax, X, {"alone": mean_band(SAMPLES[:1])})
    assert "alone" not in texts(to_svg(figure))


def test_large_numbers_on_axes_are_written_out() -> None:
    for most in (3e5, 3e6, 3e8):
        figure, ax = new_figure()
        ax.plot([0.0, 1.0], [0.0, most])
        assert f"{most:.0f}" in texts(to_svg(figure))


def test_logarithmic_axes_have_labels_of_plain_text() -> None:
    long, short = (set(texts(bands(scale, log="y"))) for scale in (1e6, 1e2))  # one notation per axis
    assert {"10³", "10⁶"} <= long
    assert not {"100", "1000"} & long
    assert {"10", "100"} <= short
    figure, ax = new_figure()
    ax.plot([2.0, 3.0], [2.0, 3.0])
    name_axes(ax, "x", "y", log="xy")
    assert {"2", "3"} <= set(texts(to_svg(figure)))  # less than a decade: the ticks between it are labelled


def test_an_axis_that_becomes_logarithmic_has_plain_numbers_before() -> None:
    figure, ax = new_figure()
    ax.plot([0.0, 1.0], [0.0, 320.0])
    ax.plot([0.0, 1.0], [3e4, 3e4])
    span_bound(ax, 320.0, 3e4)
    assert {"80", "320", "10³", "10⁴"} <= set(texts(to_svg(figure)))


@pytest.mark.parametrize(
    ("value", "text"), [(1.0, "10⁰"), (500.0, "5×10²"), (0.001, "10⁻³"), (1e4, "10⁴"), (2e-7, "2×10⁻⁷")]
)
def test_powers_of_ten(value: float, text: str) -> None:
    assert power_of_ten(value) == text


def test_bad_arguments_are_refused_by_name() -> None:
    _, ax = new_figure()
    with pytest.raises(InputError, match="panels: 0"):
        new_figure(0)
    with pytest.raises(InputError, match="log: 'z'"):
        name_axes(ax, "x", "y", log="z")
    with pytest.raises(InputError, match="short: shapes"):
        plot_bands(ax, X, {"short": ([1.0], [1.0], [1.0])})
    with pytest.raises(InputError, match="short: shapes"):
        plot_bars(ax, ["x", "y"], {"short": ([1.0], [1.0], [1.0])})


def test_importing_loads_no_matplotlib() -> None:
    code = "import sys; from clairvoyant.analysis import plots, statistics; print(sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "'matplotlib'" not in loaded
    assert "'scipy.stats'" not in loaded


def test_a_curve_looks_the_same_in_every_panel_of_a_figure() -> None:
    figure, (first, second) = new_figure(2)
    flat = (np.ones(3), np.ones(3), np.ones(3))
    plot_bands(first, [1, 2, 3], {"a": flat, "b": flat, "c": flat})
    plot_bands(second, [1, 2, 3], {"c": flat, "b": flat, "d": flat})

    def looks(ax: Any) -> dict[str, tuple[Any, ...]]:
        return {
            line.get_label(): (line.get_color(), line.get_linestyle(), line.get_marker())
            for line in ax.get_lines()
        }

    above, below = looks(first), looks(second)
    assert above["b"] == below["b"]
    assert above["c"] == below["c"]
    assert len({*above.values(), *below.values()}) == 4
    assert to_svg(figure)


def policy_labels() -> list[str]:
    """What figures call the oracle and policies, in any problem."""
    rooms = (admission, allocation, placement, selection)
    found = {one.label for room in rooms for one in vars(room.experiments).values() if hasattr(one, "label")}
    return ["oracle", *sorted(found)]


@pytest.mark.parametrize("problem", OURS, ids=lambda problem: problem.name)
def test_no_two_policies_of_a_problem_look_alike(problem: Problem) -> None:
    """One that does is listed in POLICIES of plots.py, among those that figures show with it."""
    names = ["oracle", *problem.part("policies")]
    looks = [candidates(name)[0] for name in names]
    assert len(set(looks)) == len(names) > 5
    assert [look.colour for look in looks].count(INK) == 1
    assert max(look.place for look in looks) < len(MARKERS) == len(HATCHES)


def test_a_policy_looks_the_same_whatever_else_a_figure_shows() -> None:
    labels = policy_labels()
    assert {"OGASched (constant)", "ESDP", "OASiS", "FIFO-FirstFit"} < set(labels)
    alone = {label: looks_of([label], {})[label] for label in labels}
    for label in labels:
        if len(candidates(label)) == 1:
            others = looks_of([one for one in labels if one != label], {})
            assert looks_of([label], others)[label] == looks_of([*labels, "x"], {})[label] == alone[label]
    assert alone["oracle"].colour == INK
    assert {alone[name] for name in ("ESDP", "OASiS")} == {(PALETTE[0], 0)}
    assert candidates("esdp-printed") == candidates("ESDP (printed)")
    assert candidates("ogasched") == candidates("OGASched (constant)")


def test_settings_of_a_policy_share_its_colour_and_differ_in_the_marker() -> None:
    labels = ["ESDP", "ESDP, certificate", "esdp:g=log", "ESDP (c = 2)"]
    looks = looks_of(labels, {})
    assert {look.colour for look in looks.values()} == {candidates("ESDP")[0].colour}
    assert len(set(looks.values())) == len(labels)
    assert all(candidates(label)[0].colour == looks[label].colour for label in labels)


def test_settings_that_figures_set_side_by_side_differ_without_their_help() -> None:
    for room in (admission, allocation, placement, selection):
        labels = [one.label for one in vars(room.experiments).values() if hasattr(one, "label")]
        looks = {candidates(label)[0] for label in labels}
        assert len(looks) == len(labels) > 2


def test_a_name_that_nobody_knows_looks_the_same_every_time() -> None:
    """It moves only where it could not be told from what is there already."""
    names = ["GPU", "vCPU", "memory GB", "storage GB", "bandwidth Mbps", "x", "y"]
    looks = looks_of(names, {})
    assert len({look.colour for look in looks.values()}) == len({look.place for look in looks.values()}) == 7
    assert looks == looks_of(reversed(names), {})
    assert all(looks_of([name], {})[name] == candidates(name)[0] for name in names)
    many = looks_of(map(str, range(49)), {})
    assert len(set(many.values())) == 49


def test_bars_and_curves_of_one_name_share_a_colour() -> None:
    _, (above, below) = new_figure(2)
    plot_bands(above, [1, 2], {"DRF": ([1, 2], [1, 2], [1, 2]), "oracle": ([1, 2], [1, 2], [1, 2])})
    plot_bars(below, ["a"], {"x": ([1], [1], [1]), "DRF": ([1], [1], [1]), "oracle": ([1], [1], [1])})
    drf = next(line for line in above.get_lines() if line.get_label() == "DRF")
    bar = next(one for one in below.containers if one.get_label() == "DRF")
    assert to_rgba(str(drf.get_color())) == bar.patches[0].get_facecolor()


def test_bands_end_where_values_do() -> None:
    figure, ax = new_figure()
    shares = ([50, 99], [-10, 90], [110, 108])
    plot_bands(ax, [1, 2], {"a": shares}, possible=(0, 100))
    (band,) = (one for one in ax.collections if one.get_label() != "95 % confidence")
    heights = band.get_paths()[0].vertices[:, 1]
    assert (heights.min(), heights.max()) == (0, 100)
    _, ax = new_figure()
    plot_bars(ax, ["x", "y"], {"a": shares}, possible=(0, 100))
    (bars,) = (container for container in ax.containers if type(container).__name__ == "ErrorbarContainer")
    ends = [segment[:, 0].tolist() for segment in bars.lines[2][0].get_segments()]
    assert ends == [[0, 100], [90, 100]]
    assert to_svg(figure)


@pytest.mark.parametrize(
    ("claim", "possible"),
    [
        ("allocation/step-26-grows", POSITIVE),
        ("admission/figure-5", (1.0, np.inf)),
        ("admission/figure-8", POSITIVE),
        ("placement/figure-7", AT_MOST_ALL),
    ],
)
def test_figures_of_what_is_bounded_say_so(
    claim: str, possible: tuple[float, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No mean lies beyond what is said to be possible, and every panel is told."""
    told: list[tuple[float, float]] = []

    def seen(draw: Any) -> Any:
        def drawn(ax: Any, x: Any, series: Any, *, possible: Any, **more: Any) -> Any:
            told.append(possible)
            means = np.concatenate([np.asarray(mean) for mean, *_ in series.values()])
            assert (means >= possible[0] - 1e-9).all()
            assert (means <= possible[1] + 1e-9).all()
            return draw(ax, x, series, possible=possible, **more)

        return drawn

    for name in ("plot_bands", "plot_bars"):
        monkeypatch.setattr(experiments, name, seen(getattr(experiments, name)))
    (checked,) = [one for one in find(claim.split("/")[0]).part("claims") if one.id == claim]
    assert len(checked.check(Context("quick")).figures) == 1
    assert set(told) == {possible}


def test_figures_of_experiments_know_what_is_possible() -> None:
    samples = np.array([[0.0, 100.0], [100.0, 99.0]])
    known = {"a": mean_band(samples)}
    for draw in (
        partial(curves, "f", "c", [1, 2], {"use (%)": {"a": samples}}, "x", problem="p", note="n"),
        partial(bars_of, "f", "c", ["x", "y"], known, "use (%)", problem="p", note="n"),
    ):
        assert draw().svg == draw(possible=(-np.inf, np.inf)).svg != draw(possible=(0, 100)).svg


def test_long_names_leave_bars_half_of_the_width() -> None:
    figure, ax = new_figure()
    name = "ln(t+1) + 4 ln(ln(t+1)+1) m, rho = 0.4, ports with jobs"
    plot_bars(ax, [name], {"ESDP": ([1.0], [0.5], [1.5])})
    to_svg(figure)
    assert ax.get_position().width >= 0.5
    assert ax.get_yticklabels()[0].get_text().split() == name.split()
