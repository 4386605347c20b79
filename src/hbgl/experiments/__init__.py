"""Experiments: methods x corpora x seeds, and the yardsticks to hold them against.

Reads in this order: what is to be run (``plan.py``, ``fields.py``, ``plan_reader.py``,
``experiment_file.py``, ``paper_tables.py`` with ``published.py``), running it (``running.py``,
``worker.py``, ``processes.py``, ``execution.py``, ``yardstick.py``, ``answers.py``,
``identity.py``, ``run_folder.py``, ``run_record.py``), what came out (``summary.py``, ``curves.py``,
``significance.py``), showing it (``results.py``, ``tables.py``, ``page.py``, ``page_charts.py``),
and the table of the corpora (``corpus_table.py``).
"""
