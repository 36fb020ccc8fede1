# Two commands for a fresh machine with Python (3.11 or later) and make: `make demo` and `make test`. CI runs `make test-slow` too.
# Afterwards `.venv/bin/apframe` is the command, or `apframe` after `source .venv/bin/activate`.
PYTHON ?= python3
BIN := .venv/bin
INSTALL := -m pip install -q --disable-pip-version-check
PYTEST := -m pytest -q --dist worksteal
APFRAME ?= $(BIN)/apframe
PYTHONS ?= 3.11 3.12 3.13
TRUTH := data/street/instances.json
EXAMPLES ?= 4
MORE_EXAMPLES ?= 6
CASES ?= 24
SHARE ?= 8
# slow tests often wait for processes of their own
ONE_MORE = $(shell $(PYTHON) -c "import os; print(os.cpu_count() + 1)")
# hundreds of tests start a process, and each would compile apframe anew
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo run-demo environments kits test test-slow test-full test-lowest bench bench-peers bench-quick bench-shards sample notebooks docs dist clean

demo: .venv/installed
	@$(MAKE) --no-print-directory run-demo

run-demo:
	$(APFRAME) eval $(TRUTH) data/street/model_a.json --out runs/model_a
	$(APFRAME) sql runs/model_a "SELECT name, avg(ap) AS ap FROM metrics JOIN categories USING (category_id) \
	  WHERE area_range = 'all' AND max_detections = 100 GROUP BY name ORDER BY ap DESC"
	$(APFRAME) rank data/search/qrels.txt data/search/run_*.txt -m "AP nDCG@10 P@5"
	$(APFRAME) report $(TRUTH) data/street/model_a.json data/street/model_b.json --by weather,time_of_day \
	  --images data/street/images --out runs/report.html

# what all tests need, installed side by side with `make -j2 environments`; the targets below install what is missing
environments: .venv/installed-docs kits

kits:
	$(PYTHON) -m tests.kits

# ruff, mypy, doctests and all tests of which a case takes less than 0.06 s; about 2.5 minutes on two cores. The same in every
# run, as is test-slow
test: .venv/installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy -n auto
	POLARS_MAX_THREADS=1 APFRAME_EXAMPLES=$(EXAMPLES) $(BIN)/python $(PYTEST) -n auto -m "not slow"

# what takes longer: signals, processes, a disk of 1 MB, kernels of notebooks, every protocol, thousands of cases; pages of docs/;
# the comparisons with references, and the properties on generated data sets; about 8 minutes. It runs one in eight of the cases
# of most slow tests, always the same ones; with SHARE=1 all cases, which takes half an hour. Polars has one thread, as several
# tests run at once, and apframe two of its own
test-slow: .venv/installed-docs
	POLARS_MAX_THREADS=1 APFRAME_THREADS=2 APFRAME_SHARE=$(SHARE) APFRAME_CASES=$(CASES) APFRAME_EXAMPLES=$(MORE_EXAMPLES) \
	  $(BIN)/python $(PYTEST) -n $(ONE_MORE) -m slow tests

# all tests on data that are new in each run: 1,000 generated data sets for each property, 5,000 mutated files of each format;
# hours
test-full: .venv/installed-test
	APFRAME_NEW_EXAMPLES=1 APFRAME_EXAMPLES=1000 APFRAME_CASES=5000 $(BIN)/python $(PYTEST) -n auto

# the same tests in an environment of exactly the lowest versions that pyproject.toml admits (torch left out: several GB)
test-lowest: .venv-lowest/installed
	APFRAME_EXAMPLES=$(EXAMPLES) .venv-lowest/bin/python $(PYTEST) -n auto

# the peers, in an environment of their own
bench: .venv-bench/installed
	.venv-bench/bin/python -m tests.speed $(BENCH)

# the times in the README's table, in one run; about half an hour, 16 GB of memory
bench-peers: .venv-bench/installed
	.venv-bench/bin/python -m tests.speed --topics detection slices interfaces compare retrieval --sets 450k 5m --runs 3 \
	  --jobs loaded "100 slices" drop-in twelve resampled text \
	  --tools apframe hotcoco ultrafast-pycocotools vernier pycocotools pytrec_eval-terrier ir_measures ranx $(BENCH)

# a few of these against the fastest peers, at the end of a change: at most 3 minutes; writes its table into docs/speed.md
bench-quick: .venv-bench/installed
	.venv-bench/bin/python -m tests.speed.quick $(BENCH)

# shards of up to 50 million detections, and the plan for a billion; writes the tables of docs/speed.md and
# docs/decisions/engineering.md; about 15 minutes, 3 GB of disk
bench-shards: .venv-bench/installed
	.venv-bench/bin/python -m tests.speed --topics shards sharding --runs 3 --write $(BENCH)
	.venv-bench/bin/python -m tests.speed.growth --write $(BENCH)

# make the sample set anew; it comes out the same
sample: .venv/installed
	$(BIN)/python data/generate.py
	$(BIN)/python data/generate_pictures.py
	$(BIN)/python data/generate_retrieval.py
	rm -r data/driving && $(BIN)/python data/generate_driving.py
	rm -r data/segments && $(BIN)/python data/generate_segments.py
	rm -r data/aerial && $(BIN)/python data/generate_aerial.py
	rm -r data/video && $(BIN)/python data/generate_video.py
	rm -r data/medical && $(BIN)/python data/generate_medical.py
	rm -r data/people && $(BIN)/python data/generate_people.py
	rm -r data/relations && $(BIN)/python data/generate_relations.py

# execute the notebooks and store them with their outputs
notebooks: .venv/installed-test
	$(BIN)/python notebooks/execute.py

# build the site into site/; broken links and public names without documentation are errors
docs: .venv/installed-docs
	$(BIN)/python -m tests.docs.site

# the source distribution and, made from it, the wheel; then the demo with the wheel alone on each Python, which are installed
# already or fetched by uv: `make dist PYTHONS=3.12`; about 2 minutes
dist: .venv-dist/installed
	rm -rf dist
	.venv-dist/bin/pyproject-build
	@ls dist/*
	$(PYTHON) -m tests.dist $(PYTHONS)

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/installed: .venv/bin/python pyproject.toml
	$(BIN)/python $(INSTALL) -e .
	touch $@

# packages are compiled when a test first imports them; pip would compile all two gigabytes
.venv/installed-test: .venv/bin/python pyproject.toml
	$(BIN)/python $(INSTALL) --no-compile -e ".[test]"
	touch $@ .venv/installed

.venv/installed-docs: .venv/bin/python pyproject.toml
	$(BIN)/python $(INSTALL) --no-compile -e ".[test,docs]"
	touch $@ .venv/installed .venv/installed-test

.venv-lowest/installed: pyproject.toml tests/lowest.py
	$(PYTHON) -m venv .venv-lowest
	$(PYTHON) tests/lowest.py > .venv-lowest/constraints.txt
	.venv-lowest/bin/python $(INSTALL) --no-compile -c .venv-lowest/constraints.txt -e ".[test]"
	touch $@

.venv-dist/installed:
	$(PYTHON) -m venv .venv-dist
	.venv-dist/bin/python $(INSTALL) "build>=1.2"
	touch $@

.venv-bench/installed: pyproject.toml tests/speed/requirements.txt
	$(PYTHON) -m venv .venv-bench
	.venv-bench/bin/python $(INSTALL) -e . -r tests/speed/requirements.txt
	touch $@

clean:
	rm -rf .venv .venv-bench .venv-dist .venv-lowest .bench runs build dist site .mypy_cache .pytest_cache .ruff_cache .hypothesis
