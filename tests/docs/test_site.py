"""The site is built without network and without a warning, and asks nothing of anybody."""

import os
import re
import subprocess
import sys
import zlib

import pytest
from shared_data import PROJECT

pytestmark = pytest.mark.heavy


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Build it as `make docs` does; a proxy that is not there stands for a network that is not."""
    pytest.importorskip("mkdocs", reason="MkDocs is not installed: make test installs it")
    folder = tmp_path_factory.mktemp("site")
    nowhere = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder],
        cwd=PROJECT,
        env={**os.environ, **nowhere, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    assert "WARNING" not in built.stdout + built.stderr
    return folder


def test_every_public_name_is_found_in_it(site, making):
    from reference_pages import PACKAGES, exported

    header, _, packed = (site / "objects.inv").read_bytes().partition(b"zlib")
    assert header.startswith(b"# Sphinx inventory")
    names = {line.split()[0] for line in zlib.decompress(packed.partition(b"\n")[2]).decode().splitlines()}
    assert [
        f"{package}.{name}" for package in PACKAGES for name in exported(package) if f"{package}.{name}" not in names
    ] == []


def test_no_page_loads_anything_from_elsewhere(site):
    loads = re.compile(
        r'<(?:script|img|iframe|source)[^>]+src="(https?:[^"]+)"|<link[^>]+rel="(?:stylesheet|preconnect|icon)"[^>]+href="(https?:[^"]+)"'
    )
    asked = {(page.name, found) for page in site.rglob("*.html") for found in loads.findall(page.read_text("utf-8"))}
    assert asked == set()
    assert len(list(site.rglob("*.html"))) > 150


@pytest.mark.parametrize(
    "path",
    [
        "index.html",
        "metrics/dice.html",
        "challenges/kits21.html",
        "commands/evaluate.html",
        "reference/podium.html",
        "performance.html",
    ],
)
def test_pages_work_in_a_browser(site, visit, path):
    page = visit(site / path, within=site)
    assert page.locator("h1").count() >= 1
    assert (
        page.locator("img").evaluate_all("(all) => all.filter((own) => !own.naturalWidth).map((own) => own.src)") == []
    )


def test_the_search_finds_a_metric_where_the_site_is_opened_as_files(site, visit):
    page = visit(site / "index.html", within=site)
    query = page.locator("input[name=query]")
    query.focus()  # what is typed before the index is there is not looked for
    page.locator(".md-search-result__meta", has_text="Type to start searching").wait_for(state="attached")
    query.press_sequentially("surface dice")
    page.locator(".md-search-result__item a", has_text="Surface Dice").first.wait_for()
