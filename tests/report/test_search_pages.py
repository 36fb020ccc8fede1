"""Pages of search runs in a real browser: from a bar to the rankings of its query, and the filters of queries."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import apframe as apf
from tests.report.browser import opened, running, wait_until
from tests.report.sections.test_search import DATA, RUNS

pytestmark = pytest.mark.slow
BAD = "<img src=x onerror=alert(1)> \"ü\" 'x'"
SHOWN = "(rows) => rows.filter((row) => row.checkVisibility()).map((row) => row.querySelector('th, strong').innerText.trim())"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with running() as started:
        yield started


@pytest.fixture(scope="module")
def two() -> apf.RunEvaluation:
    return apf.evaluate_run(DATA / "qrels.txt", RUNS[:2], queries=DATA / "queries.csv")


@pytest.fixture(scope="module")
def pair(two: apf.RunEvaluation, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of two runs of the sample set."""
    return apf.write_report(tmp_path_factory.mktemp("pair") / "pair.html", two, by=["topic", "n_words"])


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ids, texts, names and attributes that look like HTML; two runs and a third one, which lacks a query."""
    qrels = {f"{BAD} {k}": {f"{BAD} {n}": int(n == k) for n in range(3)} for k in range(3)}
    runs = {
        name: {query: {f"{BAD} {(k + n) % 4}": n for n in range(3)} for query in qrels} for k, name in enumerate(["a", BAD])
    }
    runs["c"] = {f"{BAD} 0": {f"{BAD} 0": 1}}
    values = [f"{BAD} 0", f"{BAD} 1", None]
    queries = {"query_id": [*qrels], "text": [BAD * 9] * 3, BAD: values, "sort": values, "queries": values}
    evaluation = apf.evaluate_run(qrels, runs, "AP", queries=queries)
    return apf.write_report(tmp_path_factory.mktemp("odd") / "odd.html", evaluation, by=[BAD, "sort", "queries"])


def moves(two: apf.RunEvaluation, query_id: str) -> dict[str, int]:
    """By how many ranks documents that both runs found are higher in the second one."""
    ranks = []
    for name in ("run_lexical", "run_hybrid"):
        documents = two.runs[name].filter(query_id=query_id).sort("score", "document_id", descending=True)["document_id"]
        ranks.append({document: rank for rank, document in enumerate(documents)})
    return {document: rank - ranks[1][document] for document, rank in ranks[0].items() if document in ranks[1]}


def test_a_bar_leads_to_the_rankings_of_its_query(browser: Any, pair: Path, two: apf.RunEvaluation) -> None:
    values = two.per_query.filter(measure="AP").pivot("run", index="query_id", values="value")
    changes = values.select("query_id", gain=(pl.col("run_hybrid") - pl.col("run_lexical")).round(12))
    falling = changes.sort("gain", "query_id", descending=[True, False])["query_id"].to_list()
    with opened(browser, pair) as page:
        bars = page.locator("#changed svg a")
        assert bars.count() == len(falling) == 60
        for place in (0, 7, 59):
            bars.nth(place).click(force=True)
            wait_until(page, "document.querySelector('.ranking:has(:target)')?.open")
            ranking = page.locator(".ranking:has(:target)")
            assert ranking.locator("strong").inner_text() == falling[place]
            assert ranking.locator("table").count() == 2 and ranking.locator("table").first.is_visible()
            expected = moves(two, falling[place])
            for name, table in zip(("run_lexical", "run_hybrid"), ranking.locator("table").all(), strict=True):
                run = two.runs[name].filter(query_id=falling[place]).sort("score", "document_id", descending=True)
                cells = [[cell.inner_text() for cell in row.locator("td").all()] for row in table.locator("tbody tr").all()]
                assert [cell[:2] for cell in cells[:10]] == [
                    [str(k), each] for k, each in enumerate(run["document_id"][:10], 1)
                ]
                for _, document, _, moved in cells[:10]:
                    up = expected.get(document)
                    alone = "gone" if name == "run_lexical" else "new"
                    assert moved == (alone if up is None else "=" if up == 0 else f"{'▲' if up > 0 else '▼'} {abs(up)}")
                judged = two.judgements.filter(pl.col("relevance") >= 1, query_id=falling[place])["document_id"]
                assert {each for _, each, words, _ in cells if words.startswith("● relevant")} <= set(judged)


def test_queries_are_filtered_by_the_form_and_by_links(browser: Any, pair: Path, two: apf.RunEvaluation) -> None:
    assert two.queries is not None
    topics = dict(two.queries.select("query_id", "topic").iter_rows())
    with opened(browser, pair) as page:
        page.locator("#queries details").first.evaluate("(each) => (each.open = true)")

        def shown() -> list[set[str]]:
            return [set(page.locator(f"#queries {rows}").evaluate_all(SHOWN)) for rows in ("tr[data-has]", ".ranking")]

        page.locator("#queries select[name=topic]").select_option("travel")
        wait_until(page, "location.hash === '#queries&topic=travel'")
        travel = {query_id for query_id, topic in topics.items() if topic == "travel"}
        assert shown() == [travel, travel]
        page.locator("#queries select[name=n_words]").select_option("4")
        wait_until(page, "location.hash.endsWith('n_words=4')")
        both = set(two.queries.filter(topic="travel", n_words=4)["query_id"])
        assert shown() == [both, both] and len(both) > 0
        page.go_back()
        wait_until(page, "location.hash === '#queries&topic=travel'")
        assert shown() == [travel, travel]
        page.locator("header .chip", has_text="cooking").click()
        wait_until(page, "location.hash === '#queries&topic=cooking'")
        cooking = {query_id for query_id, topic in topics.items() if topic == "cooking"}
        assert shown() == [cooking, cooking] and page.locator("#queries output").inner_text() == "topic: cooking"
        # a query that the filter hides shows all again; one that it leaves does not
        number = page.locator(".ranking", has=page.get_by_text(min(cooking), exact=True)).locator("[id]").get_attribute("id")
        page.evaluate(f"location.hash = '{number}'")
        wait_until(page, f"location.hash === '#{number}'")
        assert shown() == [cooking, cooking]
        number = page.locator(".ranking", has=page.get_by_text(min(travel), exact=True)).locator("[id]").get_attribute("id")
        page.evaluate(f"location.hash = '{number}'")
        wait_until(page, "document.querySelectorAll('#queries [data-has][hidden]').length === 0")
        assert shown() == [set(topics), set(topics)]
        assert page.evaluate("document.querySelector(':target').checkVisibility()")
        wait_until(page, "Math.abs(document.querySelector('.ranking:has(:target)').getBoundingClientRect().top) < 300")
        page.locator("#slices a", has_text="gardening").click()
        wait_until(page, "location.hash === '#queries&topic=gardening'")
        page.get_by_role("button", name="Show all").click()
        wait_until(page, "location.hash === '#queries'")
        assert shown() == [set(topics), set(topics)]


def test_a_link_opens_the_rankings_without_scripts(browser: Any, pair: Path) -> None:
    with opened(browser, pair, java_script_enabled=False) as page:
        page.locator("#changed table a").first.click()
        wait_until(page, "document.querySelector(':target table')?.checkVisibility()")
        assert not page.locator("#queries form").is_visible()


def test_what_looks_like_html_is_text(browser: Any, odd: Path) -> None:
    with opened(browser, odd) as page:
        assert page.locator("img").count() == 0
        page.locator("#changed table a").first.click()
        assert page.locator(":target table").count() == 2
        page.locator("#queries select").first.select_option("–")
        wait_until(page, "document.querySelectorAll('#queries tr[data-has]:not([hidden])').length === 1")
        assert page.locator("#queries tbody tr:not([hidden]) th").first.inner_text() == f"{BAD} 2"
        for place, select in enumerate(page.locator("#queries select").all()):
            page.locator("#slices table").nth(place).locator("a").first.click()
            wait_until(page, f"document.querySelectorAll('#queries select')[{place}].selectedIndex === 1")
            assert page.locator("#queries tr[data-has]:not([hidden]) th").inner_text() == f"{BAD} 0"
            select.select_option("")
            wait_until(page, "document.querySelectorAll('#queries tr[data-has][hidden]').length === 0")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast_labels_and_width(browser: Any, pair: Path, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is missing")
    with opened(browser, pair, color_scheme=scheme, viewport={"width": 400, "height": 900}) as page:
        page.evaluate("document.querySelector('#queries details').open = true")
        page.evaluate("for (const each of [...document.querySelectorAll('.ranking')].slice(0, 3)) each.open = true")
        assert page.evaluate("document.documentElement.scrollWidth") <= 400
        findings = axe.Axe().run(page)
        assert findings.violations_count == 0, findings.generate_report()


def test_printed_pages_have_the_rankings(browser: Any, pair: Path) -> None:
    with opened(browser, pair) as page:
        page.emulate_media(media="print")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert page.locator(".ranking table").last.is_visible() and not page.locator("#queries form").is_visible()
