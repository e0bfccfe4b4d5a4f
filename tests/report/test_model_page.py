"""The page about a model."""

import html
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits

from onepass import ERM, PCA, CappedMSG, OnepassWarning
from onepass.report import model_page
from tests.cli.commands import onepass as run
from tests.cli.commands import rows


class Elements(HTMLParser):
    """Marks with the classes of what is around them, and whether every tag is closed."""

    VOID = ("meta", "link", "img", "br")

    def __init__(self, text):
        super().__init__()
        self.open, self.uses = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        if tag not in self.VOID:
            self.open.append((tag, dict(attrs).get("class")))

    def handle_startendtag(self, tag, attrs):
        if tag == "use":
            self.uses.append({kind for _, kind in self.open})

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag


def page(model, tmp_path, X=None, **kwargs):
    model_page(model, tmp_path / "page.html", X, **{"title": "t", **kwargs})
    text = (tmp_path / "page.html").read_text()
    assert not Elements(text).open
    return text


def marks(text, name):
    """Return how many marks a part of all pictures has."""
    return sum(name in classes for classes in Elements(text).uses)


def broken(n=2000, d=6, row=1500):
    X = rows(n=n, d=d)
    X[row] += 50.0 * np.abs(X).max()
    return X


def test_a_page_holds_all_of_it(tmp_path):
    model = CappedMSG(3).fit(rows())
    text = page(model, tmp_path, title="<digits>", data=["a.npy"], command="onepass <x>")
    for part in ("&lt;digits&gt;", "onepass &lt;x&gt;", "300 rows (a.npy)"):
        assert part in text
    for share in model.explained_variance_ratio_:
        assert f"{share:.2%}" in text
    assert text.count("<svg") >= 2
    assert not re.search(r"(src|href)=.(http|/)|@import|url\((?!#)", text)


# Place, label if there is one, error, multiple of the median, columns.
LISTED = re.compile(
    r'<tr><td>([^<]+)</td>(?:<td class="words">([^<]*)</td>)?<td>([\d.e+-]+)</td>\n'
    r'<td>([\d.,]+)</td><td class="words">([^<]*)</td>'
)


@pytest.mark.parametrize("kind", [PCA, CappedMSG])
@pytest.mark.parametrize("scale", [1.0, 1e-3])
def test_outliers_are_measured_with_the_final_model(tmp_path, kind, scale):
    """Early rows of a group that comes late have ordinary errors in the end."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 6)) * [5, 0.1, 1, 0.1, 0.1, 0.1]
    X[1000:, 2] *= 8
    X[1500, 4] = 4.0
    X[1700, 5], X[1700, 3], X[1700, 0] = 3.0, 2.0, np.nan
    model = kind(2).partial_fit(X * scale)
    text = page(model, tmp_path, X=X * scale)
    listed = LISTED.findall(text)
    assert [row[0] for row in listed[:2]] == ["1,501", "1,701"]  # counted from 1
    errors = np.sort(model.reconstruction_error(X * scale))[::-1][:12]
    np.testing.assert_allclose([float(row[2]) for row in listed], errors, rtol=1e-3)
    assert listed[0][4].startswith("column 4 (")
    assert re.match(r"column 5 \(.*?\), column 3", listed[1][4])
    assert marks(text, "far") == len(listed) == 12
    assert 400 <= marks(text, "points") <= 412


def test_without_rows_there_are_no_points_and_no_outliers(tmp_path):
    text = page(PCA(2).partial_fit(broken()), tmp_path)
    assert "Rows with the largest errors" not in text
    assert "onepass report MODEL DATA" in text
    assert not marks(text, "points")


def test_what_is_drawn_depends_on_positions_alone(tmp_path):
    X = broken()
    model = PCA(2).partial_fit(X)
    blocks = page(model, tmp_path, X=np.array_split(X, 37))
    assert blocks == page(model, tmp_path, X=X)


def test_what_fit_warns_of_is_on_the_page(tmp_path):
    X = rows(n=2000, d=5)
    assert "<strong>Note." not in page(PCA(2).fit(X), tmp_path)
    X[:, 3] *= 100.0
    with pytest.warns(OnepassWarning, match="column 3 has"):
        dominated = PCA(2).fit(X)
    assert "leave it out (--exclude 3)" in page(dominated, tmp_path)


def drawn_bars(text, component):
    """Return the names of the bars of a component, and which are grey."""
    picture = re.findall(
        r'<svg[^>]*aria-label="Weights of component \d+">.*?</svg>', text, re.DOTALL
    )
    labels = re.findall(r'<text style="([^"]*)"[^>]*>([^<]*)</text>', picture[component])
    return {name: "--grey" in style for style, name in labels if name.startswith("column")}


def test_weights_are_bars_by_size_and_grey_where_they_may_be_zero(tmp_path):
    rng = np.random.default_rng(0)
    X = 3.0 * rng.normal(size=(3000, 1)) * [0, 0.2, 0, 0, -1, 0.5] + rng.normal(size=(3000, 6))
    text = page(PCA(2).fit(X), tmp_path)
    bars = drawn_bars(text, 0)
    assert list(bars)[:3] == ["column 4", "column 5", "column 1"]
    assert [name for name, is_grey in bars.items() if not is_grey] == list(bars)[:3]
    assert all(drawn_bars(text, 1).values())  # the others are equal


def test_components_of_images_are_images(tmp_path):
    frame, _ = load_digits(return_X_y=True, as_frame=True)  # columns pixel_0_0 to pixel_7_7
    for X, grid, has_images in (
        (frame, None, True),
        (rows(n=500, d=64), None, False),
        (rows(n=500, d=15), (3, 5), True),
    ):
        assert ("<image" in page(PCA(4).fit(X), tmp_path, grid=grid)) == has_images


def test_columns_of_any_type_colour_and_label_points(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)  # the extra `report` does not install it
    lines = [f"r{i},{'ab'[i % 2]},{x},{y},{z}" for i, (x, y, z) in enumerate(rows(300, 3))]
    lines.insert(0, "id,kind,x,y,z")
    (tmp_path / "a.csv").write_text("\n".join(lines) + "\n")
    words = ["fit", tmp_path / "a.csv", "-k", 2, "-o", tmp_path / "m"]
    words += ["--report", tmp_path / "p.html"]
    run(*words, "--color", "kind", "--label", "id")
    text = (tmp_path / "p.html").read_text()
    assert f"onepass fit {tmp_path / 'a.csv'} -k 2" in text
    assert re.search(r"kind:.*</span>a.*</span>b</p>", text, re.DOTALL)
    assert all(label == f"r{int(place) - 2}" for place, label, *_ in LISTED.findall(text))
    points = re.search(r'class="points">(.*?)class="far"', text, re.DOTALL)[1]
    assert len(set(re.findall(r"<use [^>]*fill: ([^;]*)", points))) == 2
    run("report", tmp_path / "m", tmp_path / "a.csv", "-o", tmp_path / "p.html", "--color", "x")
    assert (tmp_path / "p.html").read_text().count('class="swatch"') == 5  # a scale of numbers
    assert "'nobody'" in run(*words, "--color", "nobody", code=2).stderr


@pytest.mark.parametrize(("n", "d", "k"), [(300, 70, 30), (5, 3, 3), (40, 1, 1), (130, 2, 1)])
@pytest.mark.parametrize("estimator", [ERM, CappedMSG])
def test_any_shape(tmp_path, n, d, k, estimator):
    X = np.random.default_rng(0).normal(size=(n, d))
    model = estimator(k, center=False).fit(X)
    page(model, tmp_path, X)
    page(model.for_transform(), tmp_path)


def test_names_that_look_like_formulas_or_tags(tmp_path):
    table = pd.DataFrame(rows(d=3), columns=["$\\frac{", "</script>", "<b>&"])
    model = ERM(2).fit(table)
    text = page(model, tmp_path, table, title="names")
    assert "<b>&" not in text
    model.plot(table)


@pytest.mark.parametrize("more", [[], ["--workers", 1]])
def test_rows_of_text_are_called_by_their_lines(tmp_path, more):
    lines = ["x,y,note"] + [f'{x},{y},"two\nlines"' for x, y in rows(n=400, d=2)]
    lines[301] = '500,-500,"far\naway"'
    text = "\n".join(lines) + "\n"
    (tmp_path / "a.csv").write_text(text)
    (tmp_path / "b.csv").write_text("x,y,note\n\n" + "1,1.5,\n0.5,1,\n" * 50)
    line = text[: text.index("500,-500")].count("\n") + 1
    words = ["-k", 1, "--columns", "x,y", "--robust", "-o", tmp_path / "m"]
    words += ["--report", tmp_path / "p.html"]
    pattern = r"<tr><td>([^<]+)</td><td>[\d.e+-]+</td>\n<td>"  # of an outlier

    run("fit", tmp_path / "a.csv", *words, *more)
    page = (tmp_path / "p.html").read_text()
    assert re.findall(pattern, page)[0] == f"{line}"
    data = [tmp_path / "b.csv", tmp_path / "a.csv"]
    run("report", tmp_path / "m", *data, "-o", tmp_path / "p.html")
    assert re.findall(pattern, (tmp_path / "p.html").read_text())[0] == f"{tmp_path}/a.csv:{line}"
    run("fit", "-", *words, given=text)
    assert not re.findall(pattern, (tmp_path / "p.html").read_text())


@pytest.mark.parametrize("package", ["matplotlib", "jinja2"])
def test_a_missing_package_is_named_before_the_work(tmp_path, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    np.save(tmp_path / "a.npy", rows())
    words = ["fit", tmp_path / "a.npy", "-k", 2, "-o", tmp_path / "m"]
    result = run(*words, "--report", tmp_path / "p.html", code=2)
    assert f'needs {package}: in a clone of onepass, pip install ".[report]"' in result.stderr
    assert not (tmp_path / "m").exists()


def in_chromium(folder, text, script, *options):
    """Run a script at the end of a page; return what it leaves in `found`, and the console."""
    script = f"<script>document.body.dataset.found = (() => {{ {script} }})();</script></body>"
    (folder / "used.html").write_text(text.replace("</body>", script))
    quiet = ["quic", "background-networking", "component-update", "sync", "gpu"]
    done = subprocess.run(
        ["chromium", "--headless=new", "--no-sandbox", "--no-first-run", "--enable-logging=stderr",
         *(f"--disable-{part}" for part in quiet), f"--user-data-dir={folder / 'profile'}",
         *options, "--dump-dom", f"file://{folder / 'used.html'}"],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    return html.unescape(re.findall(r'data-found="(.*?)"', done.stdout)[0]), console


needs_chromium = pytest.mark.skipif(shutil.which("chromium") is None, reason="needs chromium")


@pytest.mark.long
@needs_chromium
def test_scripts_run_without_an_error(tmp_path):
    text = page(PCA(3).fit(broken()), tmp_path, broken())
    script = """
    const pair = document.getElementById("pair");
    pair.selectedIndex = 2; pair.dispatchEvent(new Event("change"));
    const shown = [...document.getElementById("scatter").children].map(part => !part.hidden);
    const event = new PointerEvent("pointerover", {bubbles: true});
    document.querySelector(".far use").dispatchEvent(event);
    return [shown.join(), document.getElementById("told").textContent].join("; ");"""
    found, console = in_chromium(tmp_path, text, script)
    assert not console
    assert re.fullmatch(r"false,false,true; row [\d,]+, error \d[\d.e+]+\.", found)


# The least contrast of any text with what is behind it, and by how much the page is too wide.
MEASURED = """
const parse = colour => colour.match(/[\\d.]+/g).map(Number);
const over = (top, below) => {
  const alpha = top.length < 4 ? 1 : top[3];
  return [0, 1, 2].map(i => alpha * top[i] + (1 - alpha) * below[i]);
};
const light = colour => {
  const [r, g, b] = colour.map(v => v / 255).map(
    v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const behind = element => {
  if (!element) return [255, 255, 255];
  return over(parse(getComputedStyle(element).backgroundColor), behind(element.parentElement));
};
let least = 21;
for (const element of document.querySelectorAll("body *")) {
  const own = [...element.childNodes].some(node => node.nodeType === 3 && node.data.trim());
  if (!own || ["SCRIPT", "title"].includes(element.tagName)) continue;
  const style = getComputedStyle(element);
  const inSvg = element instanceof SVGElement;
  const back = behind(element), ink = over(parse(inSvg ? style.fill : style.color), back);
  const [dark, bright] = [light(ink), light(back)].sort((a, b) => a - b);
  least = Math.min(least, (bright + 0.05) / (dark + 0.05));
}
return [least, document.documentElement.scrollWidth - innerWidth].join(" ");
"""


@pytest.mark.long
@needs_chromium
@pytest.mark.parametrize("width", [500, 1400])  # it makes no narrower window
@pytest.mark.parametrize("is_dark", [False, True])
def test_text_is_readable_and_fits(tmp_path, width, is_dark):
    text = page(PCA(12).fit(load_digits().data), tmp_path)
    options = [f"--window-size={width},900", f"--blink-settings=preferredColorScheme={1 - is_dark}"]
    found, console = in_chromium(tmp_path, text, MEASURED, *options)
    contrast, excess = map(float, found.split())
    assert not console
    assert contrast >= 4.5
    assert excess <= 0


def test_the_scree_chart_has_all_variances_and_marks_k(tmp_path):
    model = PCA(2).fit(rows(n=500, d=7))
    text = page(model, tmp_path)
    assert "How many components?" in text
    assert marks(text, "scree") == 7
    assert "k = 2" in text
    small = page(model.for_transform(), tmp_path)
    assert marks(small, "scree") == 2  # what else there was is not known any more


def test_what_is_missing_is_said(tmp_path):
    X = rows(n=500, d=5)
    assert "What is missing" not in page(PCA(2).fit(X), tmp_path)
    X[:50, 3] = np.nan
    text = page(PCA(2).fit(X), tmp_path)
    assert "<tr><td>column 3</td><td>10.00%</td></tr>" in text
