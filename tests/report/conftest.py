"""Chromium, driven by Playwright, for pages."""

import shutil

import pytest
from browsing import DESKTOP, FLAGS, LATE_TOGGLES, PATIENCE


@pytest.fixture(scope="session")
def browser():
    """Start Chromium, or say why not."""
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed: make test installs it")
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("Chromium is not installed: apt-get install chromium")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=chromium, headless=True, args=FLAGS, timeout=PATIENCE)
        yield browser
        browser.close()


@pytest.fixture
def visit(browser):
    """Return a function that opens a file; the test fails where anything is logged or wanted from elsewhere."""
    contexts, wrong = [], []

    def visit(path, *, size=DESKTOP, scheme="light", anchor="", **options):
        context = browser.new_context(viewport=size, color_scheme=scheme, offline=True, **options)
        contexts.append(context)
        context.set_default_timeout(PATIENCE)
        context.add_init_script(LATE_TOGGLES)
        page = context.new_page()
        address = path.as_uri()
        page.on("console", lambda message: wrong.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: (wrong.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on(
            "request",
            lambda request: (
                None
                if request.url.partition("#")[0] == address or request.url.startswith("data:")
                else wrong.append(request.url)
            ),
        )
        page.goto(f"{address}{anchor}")
        return page

    yield visit
    for context in contexts:
        context.close()
    assert wrong == []
